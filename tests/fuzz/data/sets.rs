//! The data sets that read these formats.

#[path = "../../../src/data/sets/array/mod.rs"]
pub mod array;
#[path = "../../../src/data/sets/fashion_mnist.rs"]
pub mod fashion_mnist;
#[path = "../../../src/data/sets/image_folder.rs"]
pub mod image_folder;
#[path = "../../../src/data/sets/mnist.rs"]
pub mod mnist;
#[path = "../../../src/data/sets/published.rs"]
pub mod published;
