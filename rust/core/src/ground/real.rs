//! The element types `f32` and `f64` under one trait.

use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub};

/// A floating-point element: `f32` or `f64`.
pub trait Real:
    Copy
    + Default
    + PartialOrd
    + Send
    + Sync
    + std::fmt::Debug
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + MulAssign
    + Sum
    + bytemuck::Pod
    + mdt_dense::Product
    + 'static
{
    /// 0
    const ZERO: Self;
    /// 1
    const ONE: Self;
    /// +infinity
    const INFINITY: Self;
    /// Unit roundoff: half the distance from 1 to the next larger number.
    const ROUNDOFF: f64;
    /// The smallest positive normal number.
    const TINY: f64;
    /// Rounds from double precision.
    fn from_f64(value: f64) -> Self;
    /// Widens to double precision (exact).
    fn to_f64(self) -> f64;
}

macro_rules! real {
    ($t:ident) => {
        impl Real for $t {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const INFINITY: Self = $t::INFINITY;
            const ROUNDOFF: f64 = $t::EPSILON as f64 / 2.0;
            const TINY: f64 = $t::MIN_POSITIVE as f64;
            #[inline(always)]
            fn from_f64(value: f64) -> Self {
                value as $t
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
        }
    };
}

real!(f32);
real!(f64);
