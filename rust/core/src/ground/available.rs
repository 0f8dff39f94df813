//! Memory that this process can still allocate, on Linux.
//!
//! The smallest of: the memory of the machine that is free or can be freed, what the limits of the
//! process leave (`ulimit -v`, `ulimit -d`), and what the memory limits of its control groups leave.
//! A control group is limited by all groups above it. Memory of its file cache can be freed. Other
//! systems have none of these files and give None.

use std::fs::read_to_string;
use std::path::{Path, PathBuf};

/// The bytes that can be allocated without swapping, if that is known.
pub fn available_bytes() -> Option<u64> {
    let system = read_to_string("/proc/meminfo").ok().and_then(|text| kilobytes(&text, "MemAvailable:"));
    let groups = read_to_string("/proc/self/cgroup").unwrap_or_default();
    [system, left_by_limits(), left_by_groups(Path::new("/sys/fs/cgroup"), &groups)].into_iter().flatten().min()
}

/// What the limits of the process leave.
fn left_by_limits() -> Option<u64> {
    let limits = read_to_string("/proc/self/limits").ok()?;
    let status = read_to_string("/proc/self/status").ok()?;
    let left = |limit: &str, used: &str| {
        let line = limits.lines().find_map(|line| line.strip_prefix(limit))?;
        let most: u64 = line.split_whitespace().next()?.parse().ok()?;
        Some(most.saturating_sub(kilobytes(&status, used)?))
    };
    [left("Max address space", "VmSize:"), left("Max data size", "VmData:")].into_iter().flatten().min()
}

/// What the control groups named in `groups` leave, the content of `/proc/self/cgroup`.
fn left_by_groups(root: &Path, groups: &str) -> Option<u64> {
    groups.lines().filter_map(|line| left_by_group(root, line)).min()
}

/// What one line of `/proc/self/cgroup` leaves: `0::path` in version 2, `id:controllers:path` in
/// version 1.
fn left_by_group(root: &Path, line: &str) -> Option<u64> {
    let mut fields = line.splitn(3, ':').skip(1);
    let (controllers, path) = (fields.next()?, fields.next()?);
    let (root, [limit, usage, inactive, active]) = if controllers.is_empty() {
        (root.to_path_buf(), ["memory.max", "memory.current", "inactive_file", "active_file"])
    } else if controllers.split(',').any(|name| name == "memory") {
        let names = ["memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file", "total_active_file"];
        (root.join("memory"), names)
    } else {
        return None;
    };
    let left = |group: &Path| {
        let number = |name: &str| read_to_string(group.join(name)).ok()?.trim().parse::<u64>().ok();
        let (most, used) = (number(limit)?, number(usage)?);
        let stat = read_to_string(group.join("memory.stat")).unwrap_or_default();
        // Memory that the kernel can reclaim is not used up.
        let cached: u64 = [inactive, active, "slab_reclaimable"].iter().filter_map(|name| entry(&stat, name)).sum();
        Some(most.saturating_sub(used.saturating_sub(cached)))
    };
    // Inside of a container the path may be that of the host: only the groups above exist.
    let group: PathBuf = root.join(path.trim_start_matches('/'));
    group.ancestors().take_while(|above| above.starts_with(&root)).filter_map(left).min()
}

/// The number after a name, in lines of names and numbers.
fn entry(text: &str, name: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
    value.trim().parse().ok()
}

/// The bytes of a line `name 123 kB`.
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|k| k * 1024)
}

#[cfg(test)]
mod tests {
    use std::fs::{create_dir_all, write};

    use super::*;

    /// A folder with the files of a group.
    fn group(folder: &Path, names: [&str; 2], limit: &str, used: &str, stat: &str) {
        create_dir_all(folder).unwrap();
        for (name, text) in [(names[0], limit), (names[1], used), ("memory.stat", stat)] {
            write(folder.join(name), format!("{text}\n")).unwrap();
        }
    }

    #[test]
    fn groups_of_both_versions_and_all_levels_count() {
        let root = std::env::temp_dir().join(format!("mdt-groups-{}", std::process::id()));
        let second = ["memory.max", "memory.current"];
        group(&root.join("a"), second, "1000", "700", "anon 600\ninactive_file 60\nactive_file 40\n");
        group(&root.join("a/b"), second, "max", "500", "");
        assert_eq!(left_by_groups(&root, "0::/a/b\n"), Some(400));
        assert_eq!(left_by_groups(&root, "0::/of/the/host\n"), None);
        group(&root, second, "300", "100", "");
        assert_eq!(left_by_groups(&root, "0::/of/the/host\n"), Some(200));
        let first = ["memory.limit_in_bytes", "memory.usage_in_bytes"];
        group(&root.join("memory/c"), first, "500", "450", "total_inactive_file 20\n");
        assert_eq!(left_by_groups(&root, "4:cpu,memory:/c\n3:cpuset:/\n"), Some(70));
        group(&root.join("memory"), first, "100", "150", "");
        assert_eq!(left_by_groups(&root, "4:cpu,memory:/c\n"), Some(0));
        std::fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn lines_of_the_system_are_read() {
        assert_eq!(kilobytes("MemFree: 1 kB\nMemAvailable:    7 kB\n", "MemAvailable:"), Some(7168));
        assert_eq!(entry("active_file_x 3\nactive_file 5\n", "active_file"), Some(5));
        #[cfg(target_os = "linux")]
        assert!(available_bytes().is_some_and(|bytes| bytes > 0));
    }
}
