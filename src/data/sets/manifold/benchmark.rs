//! The benchmark set: 24 shapes on which dimension estimators are commonly compared.
//!
//! What: names, order, dimensions and numbers of coordinates of the set.
//! Reference: Hein and Audibert 2005; Campadelli et al. 2015, "Intrinsic dimension estimation:
//! relevant techniques and a benchmark framework".
//! Checked against: scikit-dimension 0.5.0, `BenchmarkManifolds` (in tests/reference).

use std::num::NonZeroUsize;

use super::shape::ManifoldShape;

/// Makes a count from a constant above zero.
const fn count<const N: usize>() -> NonZeroUsize {
    const { NonZeroUsize::new(N).unwrap() }
}

impl ManifoldShape {
    /// Returns the shapes of the benchmark set by their usual names.
    pub fn benchmark() -> Vec<(&'static str, Self)> {
        let nonlinear = |dimension, copies| Self::Nonlinear { dimension, copies };
        let faces = |dimension, ambient| Self::CubeSurface { dimension, ambient };
        let waves = |dimension| Self::TangentArctangent { dimension };
        let paraboloid = |dimension| Self::Paraboloid { dimension };
        vec![
            ("M1_Sphere", Self::Sphere { dimension: count::<10>(), ambient: count::<11>() }),
            ("M2_Affine_3to5", Self::AffineThreeInFive),
            ("M3_Nonlinear_4to6", Self::NonlinearFourInSix),
            ("M4_Nonlinear", nonlinear(count::<4>(), count::<1>())),
            ("M5a_Helix1d", Self::Helix),
            ("M5b_Helix2d", Self::Helicoid),
            ("M6_Nonlinear", nonlinear(count::<6>(), count::<3>())),
            ("M7_Roll", Self::SwissRoll),
            ("M8_Nonlinear", nonlinear(count::<12>(), count::<3>())),
            ("M9_Affine", Self::Affine { dimension: count::<20>(), ambient: count::<20>() }),
            ("M10a_Cubic", faces(count::<10>(), count::<11>())),
            ("M10b_Cubic", faces(count::<17>(), count::<18>())),
            ("M10c_Cubic", faces(count::<24>(), count::<25>())),
            ("M10d_Cubic", faces(count::<70>(), count::<71>())),
            ("M11_Moebius", Self::Moebius),
            ("M12_Norm", Self::Gaussian { dimension: count::<20>(), ambient: count::<20>() }),
            ("M13a_Scurve", Self::SCurve),
            ("M13b_Spiral", Self::Spiral { ambient: count::<13>() }),
            ("Mbeta", Self::Beta { dimension: count::<10>() }),
            ("Mn1_Nonlinear", waves(count::<18>())),
            ("Mn2_Nonlinear", waves(count::<24>())),
            ("Mp1_Paraboloid", paraboloid(count::<3>())),
            ("Mp2_Paraboloid", paraboloid(count::<6>())),
            ("Mp3_Paraboloid", paraboloid(count::<9>())),
        ]
    }
}
