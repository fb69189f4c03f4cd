//! Distributions of vectors and matrices.

pub(crate) mod car;
pub(crate) mod dirichlet;
pub(crate) mod dirichlet_multinomial;
pub(crate) mod gaussian_copula;
pub(crate) mod gaussian_random_walk;
pub(crate) mod lkj;
pub(crate) mod lkj_cholesky;
pub(crate) mod low_rank_multivariate_normal;
pub(crate) mod matrix_normal;
pub(crate) mod multinomial;
pub(crate) mod multivariate_normal;
pub(crate) mod multivariate_student_t;
pub(crate) mod wishart;
pub(crate) mod zero_sum_normal;

pub use car::Car;
pub use dirichlet::Dirichlet;
pub use dirichlet_multinomial::DirichletMultinomial;
pub use gaussian_copula::GaussianCopula;
pub use gaussian_random_walk::GaussianRandomWalk;
pub use lkj::LKJ;
pub use lkj_cholesky::LKJCholesky;
pub use low_rank_multivariate_normal::LowRankMultivariateNormal;
pub use matrix_normal::MatrixNormal;
pub use multinomial::Multinomial;
pub use multivariate_normal::MultivariateNormal;
pub use multivariate_student_t::MultivariateStudentT;
pub use wishart::{InverseWishart, Wishart};
pub use zero_sum_normal::ZeroSumNormal;
