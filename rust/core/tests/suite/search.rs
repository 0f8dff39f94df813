//! Searches on problems with a known best sequence, and the evaluator against its parts.

use std::sync::Mutex;

use mdt_core::cluster::k_means::KMeansSettings;
use mdt_core::cluster::quality::Criterion;
use mdt_core::graph::neighbours::Features;
use mdt_core::ground::exec::Exec;
use mdt_core::ground::random::{Stream, mix};
use mdt_core::search::{
    Answer, Beam, Clustering, EpsilonGreedy, Evaluation, Evaluator, Exhaustive, Halt, Mcts, Quality, RandomSequences,
    Score, ScoredView, Scorer, SearchOutcome, Sequence, Side, StartBlock, Strategy, ViewRows, search,
};
use mdt_core::spectral::EmbeddingSettings;
use mdt_core::{Error, Member, OperatorSet, Result, Trajectory};
use proptest::prelude::*;

use crate::samples::walks;

/// Scores sequences by a rule and stores the sequences it scored.
struct Rule<F> {
    rule: F,
    scored: Mutex<Vec<Sequence>>,
}

impl<F: Fn(&[u16]) -> f64 + Sync> Rule<F> {
    fn new(rule: F) -> Self {
        Self { rule, scored: Mutex::default() }
    }

    fn scored(&self) -> Vec<Sequence> {
        self.scored.lock().unwrap().clone()
    }
}

impl<F: Fn(&[u16]) -> f64 + Sync> Scorer for Rule<F> {
    fn score(&self, sequences: &[Sequence], _: &Exec) -> Result<Vec<Option<Score>>> {
        self.scored.lock().unwrap().extend(sequences.iter().cloned());
        Ok(sequences.iter().map(|sequence| Some(Score { value: (self.rule)(sequence), seconds: 0.0 })).collect())
    }
}

/// A random table of scores.
fn table(seed: u64) -> impl Fn(&[u16]) -> f64 + Sync {
    move |sequence: &[u16]| {
        let key = sequence.iter().fold(sequence.len() as u64, |key, &member| mix(key ^ mix(u64::from(member))));
        Stream::new(seed, key).uniform()
    }
}

/// A problem in which extensions of good sequences are good: scores add up along the sequence.
fn walk(seed: u64) -> impl Fn(&[u16]) -> f64 + Sync {
    let step = table(seed);
    move |sequence: &[u16]| (1..=sequence.len()).map(|length| step(&sequence[..length]) - 0.45).sum()
}

fn run(strategy: &dyn Strategy, scorer: &dyn Scorer, members: usize) -> SearchOutcome {
    search(strategy, scorer, members, Vec::new(), None, Answer::Any, &Exec::with_threads(2)).unwrap()
}

fn best(found: &SearchOutcome) -> (Sequence, f64) {
    let node = &found.nodes[found.best];
    (node.sequence.clone(), node.score.value)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_wide_beam_scores_all_sequences(seed: u64, members in 1_usize..4, depth in 1_usize..5) {
        let rule = Rule::new(table(seed));
        let beam = Beam { width: members.pow(depth as u32), depth, side: Side::Left };
        let all = run(&Exhaustive { depth }, &rule, members);
        let wide = run(&beam, &rule, members);
        prop_assert_eq!(best(&all), best(&wide));
        prop_assert_eq!(all.nodes.len(), wide.nodes.len());
        prop_assert_eq!(all.nodes.len(), Exhaustive { depth }.visits(members));
        prop_assert_eq!(all.nodes.len(), beam.visits(members));
    }

    #[test]
    fn nodes_are_distinct_and_have_parents(seed: u64, members in 1_usize..4, depth in 1_usize..6) {
        let strategies: [(Box<dyn Strategy>, Side); 6] = [
            (Box::new(Beam { width: 2, depth, side: Side::Left }), Side::Left),
            (Box::new(Beam { width: 2, depth, side: Side::Right }), Side::Right),
            (Box::new(EpsilonGreedy { epsilon: 0.5, depth, side: Side::Left, seed }), Side::Left),
            (Box::new(Mcts { playouts: 20, depth, exploration: 0.5, seed }), Side::Left),
            (Box::new(Exhaustive { depth: depth.min(4) }), Side::Left),
            (Box::new(RandomSequences { samples: 20, probabilities: vec![1.0 / members as f64; members * depth], seed }), Side::Left),
        ];
        for (strategy, side) in strategies {
            let rule = Rule::new(table(seed));
            let found = run(&*strategy, &rule, members);
            let mut scored = rule.scored();
            scored.sort();
            scored.dedup();
            prop_assert_eq!(scored.len(), found.nodes.len());
            prop_assert!(found.nodes.len() <= strategy.visits(members));
            for node in &found.nodes {
                prop_assert!((1..=depth).contains(&node.sequence.len()));
                if let Some(parent) = node.parent {
                    let shorter = match side {
                        Side::Left => &node.sequence[..node.sequence.len() - 1],
                        Side::Right => &node.sequence[1..],
                    };
                    prop_assert_eq!(&found.nodes[parent].sequence[..], shorter);
                }
                prop_assert!(node.score.value <= best(&found).1);
            }
        }
    }

    /// A run with known scores computes only the others and ends with the same result.
    #[test]
    fn known_scores_are_not_computed_again(seed: u64, known in 0_usize..40) {
        let strategy = Mcts { playouts: 30, depth: 5, exploration: 0.5, seed };
        let first = run(&strategy, &Rule::new(table(seed)), 2);
        let kept: Vec<_> = first.nodes.iter().take(known).map(|n| (n.sequence.clone(), n.score)).collect();
        let rule = Rule::new(table(seed));
        let exec = Exec::with_threads(1);
        let again = search(&strategy, &rule, 2, kept.clone(), None, Answer::Any, &exec).unwrap();
        prop_assert_eq!(rule.scored().len(), first.nodes.len() - kept.len());
        prop_assert_eq!(again, first);
    }

    #[test]
    fn budgets_are_exact(seed: u64, budget in 1_usize..40) {
        let strategy = Beam { width: 3, depth: 6, side: Side::Left };
        let rule = Rule::new(table(seed));
        let exec = Exec::with_threads(1);
        let found = search(&strategy, &rule, 3, Vec::new(), Some(budget), Answer::Any, &exec).unwrap();
        prop_assert_eq!(found.nodes.len(), budget);
        prop_assert_eq!(found.halt, Some(Halt::Budget));
        let all = run(&strategy, &Rule::new(table(seed)), 3);
        prop_assert_eq!(&found.nodes[..], &all.nodes[..budget]);
    }
}

#[test]
fn ties_are_broken_by_length_and_order() {
    let found = run(&Exhaustive { depth: 3 }, &Rule::new(|_: &[u16]| 1.0), 3);
    assert_eq!(best(&found).0, [0]);
    let long = Rule::new(|sequence: &[u16]| if sequence.len() > 1 { 1.0 } else { 0.0 });
    assert_eq!(best(&run(&Beam { width: 2, depth: 4, side: Side::Left }, &long, 2)).0, [0, 0]);
    let last = |side| {
        let exec = Exec::with_threads(1);
        let found =
            search(&Beam { width: 1, depth: 3, side }, &long, 2, Vec::new(), None, Answer::Last, &exec).unwrap();
        best(&found).0
    };
    assert_eq!(last(Side::Left), [0, 0, 0]);
    assert_eq!(last(Side::Right), [0, 0, 0]);
}

#[test]
fn a_beam_beats_a_greedy_search_on_average() {
    let mut gain = 0.0;
    for seed in 0..100 {
        let score = |width| best(&run(&Beam { width, depth: 8, side: Side::Left }, &Rule::new(walk(seed)), 3)).1;
        gain += score(3) - score(1);
    }
    assert!(gain / 100.0 > 0.1, "{gain}");
}

#[test]
fn epsilon_is_the_probability_of_a_random_step() {
    let greedy = |seed| run(&Beam { width: 1, depth: 6, side: Side::Left }, &Rule::new(walk(seed)), 3);
    let epsilon =
        |epsilon, seed| run(&EpsilonGreedy { epsilon, depth: 6, side: Side::Left, seed }, &Rule::new(walk(seed)), 3);
    assert!((0..20).all(|seed| epsilon(0.0, seed).nodes == greedy(seed).nodes));
    assert!((0..20).filter(|&seed| epsilon(1.0, seed).nodes != greedy(seed).nodes).count() > 10);
}

/// One of 3^6 sequences is best, and every right step towards it improves the score.
#[test]
fn tree_search_finds_a_planted_sequence() {
    let planted = |seed: u64| -> Sequence { (0..6).map(|i| Stream::new(seed, i).below(3) as u16).collect() };
    let found = (0..20).filter(|&seed| {
        let target = planted(seed);
        let rule = Rule::new(|sequence: &[u16]| {
            sequence.iter().zip(&target).take_while(|(a, b)| a == b).count() as f64 - 0.1 * sequence.len() as f64
        });
        let strategy = Mcts { playouts: 150, depth: 6, exploration: 0.5, seed };
        best(&run(&strategy, &rule, 3)).0 == target
    });
    // 300 of 1,092 sequences: random draws would find it in 5 or 6 cases of 20.
    assert!(found.count() >= 18);
}

#[test]
fn random_sequences_follow_the_probabilities() {
    let probabilities = [0.7, 0.2, 0.1, 0.0, 0.5, 0.5];
    let strategy = RandomSequences { samples: 1, probabilities: probabilities.to_vec(), seed: 3 };
    let mut counts = [0.0_f64; 6];
    for sample in 0..20_000 {
        for (step, member) in strategy.sequence(sample, 3).into_iter().enumerate() {
            counts[3 * step + usize::from(member)] += 1.0;
        }
    }
    let expected = probabilities.map(|p| 20_000.0 * p);
    let chi2: f64 = counts.iter().zip(expected).filter(|(_, e)| *e > 0.0).map(|(c, e)| (c - e).powi(2) / e).sum();
    assert_eq!(counts[3], 0.0);
    // Three degrees of freedom, significance 0.001.
    assert!(chi2 < 16.3, "{counts:?}");
}

#[test]
fn a_scorer_that_fails_ends_the_search() {
    struct Broken;
    impl Scorer for Broken {
        fn score(&self, _: &[Sequence], _: &Exec) -> Result<Vec<Option<Score>>> {
            Err(Error::Invalid("broken".into()))
        }
    }
    let exec = Exec::with_threads(1);
    let found = search(&Exhaustive { depth: 2 }, &Broken, 2, Vec::new(), None, Answer::Any, &exec);
    assert_eq!(found.unwrap_err(), Error::Invalid("broken".into()));
}

fn set() -> OperatorSet<f64> {
    OperatorSet::new(walks(600, 2, 1), vec![Member::Walk(0), Member::Walk(1)]).unwrap()
}

fn clustering(n_components: usize) -> Clustering {
    Clustering {
        embedding: EmbeddingSettings {
            n_components,
            drop_first: true,
            tolerance: 1e-3,
            only_distances: true,
            max_iterations: 300,
            seed: 5,
        },
        damped: false,
        k_means: KMeansSettings { n_clusters: 4, n_init: 2, max_iterations: 300, tolerance: 1e-4, seed: 5 },
    }
}

fn by_hand(set: &OperatorSet<f64>, sequence: &[u16], exec: &Exec) -> f64 {
    let how = clustering(4);
    let labels = how.of(&Trajectory::of_sequence(set, sequence).unwrap(), &StartBlock::default(), exec).unwrap().labels;
    let score = |walk: usize| {
        let rows = Features::Sparse(set.walks()[walk].matrix());
        Criterion::DaviesBouldin.of(rows, &labels, 4, exec).unwrap()
    };
    -(0.25 * score(0) + 0.75 * score(1))
}

/// A score is a function of the sequence, whatever came before and whatever the number of threads.
#[test]
fn scores_do_not_depend_on_the_search() {
    let set = set();
    let observer = |_: &[u16], _: Score| ();
    let strategy = Beam { width: 2, depth: 4, side: Side::Left };
    let mut histories = Vec::new();
    for threads in [1, 2, 3] {
        let exec = Exec::with_threads(threads);
        let quality = Quality::Labels {
            clustering: clustering(4),
            criterion: Criterion::DaviesBouldin,
            views: vec![
                ScoredView { rows: ViewRows::Walk(0), weight: 0.25 },
                ScoredView { rows: ViewRows::Walk(1), weight: 0.75 },
            ],
        };
        let start = StartBlock::default();
        let evaluator = Evaluator::new(&set, quality, &start, None, &observer);
        let found = search(&strategy, &evaluator, 2, Vec::new(), None, Answer::Any, &exec).unwrap();
        for node in &found.nodes {
            assert_eq!(node.score.value, by_hand(&set, &node.sequence, &exec), "{:?}", node.sequence);
        }
        histories.push(found.nodes.into_iter().map(|n| (n.sequence, n.parent)).collect::<Vec<_>>());
    }
    assert!(histories.windows(2).all(|pair| pair[0] == pair[1]));
}

/// Large sets are reordered: labels come back in the given order, and scores on walks and on
/// features are those of the labels.
#[test]
fn labels_of_reordered_sets_are_in_the_given_order() {
    let (n, exec) = (17_000, Exec::with_threads(2));
    let set = OperatorSet::<f64>::new(walks(n, 2, 1), vec![Member::Walk(0), Member::Walk(1)]).unwrap();
    let features: Vec<f64> = (0..n).map(|i| (i as f64).sin()).collect();
    let quality = Quality::Labels {
        clustering: clustering(4),
        criterion: Criterion::CalinskiHarabasz,
        views: vec![
            ScoredView { rows: ViewRows::Walk(0), weight: 0.5 },
            ScoredView { rows: ViewRows::Features(Features::Dense { data: &features, dimension: 1 }), weight: 0.5 },
        ],
    };
    let observer = |_: &[u16], _: Score| ();
    let start = StartBlock::default();
    let evaluator = Evaluator::new(&set, quality, &start, None, &observer);
    let Evaluation { score, labels } =
        evaluator.score_weights(&[vec![0.0, 1.0, 1.0, 0.0]], true, &exec).unwrap().remove(0).unwrap();
    let labels = labels.unwrap();
    let trajectory = Trajectory::of_sequence(&set, &[1, 0]).unwrap();
    assert_eq!(labels, clustering(4).of(&trajectory, &StartBlock::default(), &exec).unwrap().labels);
    let rows = [Features::Sparse(set.walks()[0].matrix()), Features::Dense { data: &features, dimension: 1 }];
    let by_hand: f64 = rows.map(|r| 0.5 * Criterion::CalinskiHarabasz.of(r, &labels, 4, &exec).unwrap()).iter().sum();
    assert!((score.value / by_hand - 1.0).abs() < 1e-9, "{} {by_hand}", score.value);
}

/// Labels of any sequence, kept or computed again, are those of its trajectory.
#[test]
fn labels_of_a_sequence_are_those_of_its_trajectory() {
    let (set, exec) = (set(), Exec::with_threads(2));
    let quality = Quality::Labels {
        clustering: clustering(4),
        criterion: Criterion::CalinskiHarabasz,
        views: vec![ScoredView { rows: ViewRows::Walk(0), weight: 1.0 }],
    };
    let observer = |_: &[u16], _: Score| ();
    let start = StartBlock::default();
    let evaluator = Evaluator::new(&set, quality, &start, None, &observer);
    let strategy = Beam { width: 2, depth: 3, side: Side::Left };
    let found = search(&strategy, &evaluator, 2, Vec::new(), None, Answer::Any, &exec).unwrap();
    let expected = |sequence: &[u16]| {
        clustering(4)
            .of(&Trajectory::of_sequence(&set, sequence).unwrap(), &StartBlock::default(), &exec)
            .unwrap()
            .labels
    };
    let best = best(&found).0;
    assert_eq!(evaluator.labels_of(&best, &exec).unwrap(), Some(expected(&best)));
    let other = &found.nodes.iter().find(|node| node.sequence != best).unwrap().sequence;
    assert_eq!(evaluator.labels_of(other, &exec).unwrap(), Some(expected(other)));
    assert_eq!(evaluator.kept_labels(&best).unwrap(), Some(expected(&best)));
    assert_eq!(evaluator.kept_labels(other).unwrap(), None);

    let scored =
        |with_labels| evaluator.score_weights(&[vec![0.5, 0.5]], with_labels, &exec).unwrap().remove(0).unwrap();
    assert_eq!((scored(true).labels.is_some(), scored(false).labels), (true, None));
    assert_eq!(scored(true).score.value, scored(false).score.value);
    let contrastive = Evaluator::new(&set, Quality::Contrastive(vec![0.5; 2]), &start, None, &observer);
    assert_eq!(contrastive.labels_of(&best, &exec).unwrap(), None);
}
