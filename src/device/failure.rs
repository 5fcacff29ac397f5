//! What backends say when a device fails, and what it means for a user.
//!
//! A backend without its hardware, or out of its memory, panics: often with a page of text, of which one
//! line says why, and sometimes on a thread of its own, so that only something vague reaches the stage.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::{Mutex, PoisonError};

/// Words by which backends tell that memory is exhausted: cubecl on Vulkan and CUDA, wgpu, and libtorch.
const OUT_OF_MEMORY: [&str; 6] = [
    "out of device memory",
    "out-of-memory",
    "out of memory",
    "out_of_device_memory",
    "not enough memory",
    "can't allocate buffer of size",
];

/// Words by which backends tell that a device is gone.
const LOST: [&str; 3] = ["device is poisoned", "device was poisoned", "device was lost"];

/// What panics of this process said, on whatever thread; see [`record_panics`].
static SAID: Mutex<String> = Mutex::new(String::new());

/// Runs what may panic for want of a device; the error is what it says.
pub(crate) fn catch<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    /// One at a time: each puts back the hook that it has found.
    static HOOK: Mutex<()> = Mutex::new(());
    let _alone = HOOK.lock().unwrap_or_else(PoisonError::into_inner);
    // The message is part of an error, not printed twice.
    let hook = take_hook();
    set_hook(Box::new(|_| ()));
    let result = catch_unwind(AssertUnwindSafe(run));
    set_hook(hook);
    result.map_err(|panic| message(&*panic).unwrap_or("no reason given").to_owned())
}

/// Keeps what panics of this process say from now on, so that [`explain_failure`] knows what happened on
/// other threads.
pub fn record_panics() {
    let hook = take_hook();
    set_hook(Box::new(move |panic| {
        if let Some(text) = message(panic.payload()) {
            let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
            said.push_str(text);
            said.push('\n');
        }
        hook(panic);
    }));
}

fn message(panic: &(dyn Any + Send)) -> Option<&str> {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
}

/// Returns the first line of what a backend says.
pub(super) fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

/// Returns whether a backend says that memory is exhausted.
pub(super) fn tells_of_memory(text: &str) -> bool {
    let text = text.to_lowercase();
    OUT_OF_MEMORY.iter().any(|words| text.contains(words))
}

/// Says in one line what a panic of a backend means, if that is known; `advice` is what to do when there
/// is too little memory.
pub fn explain_failure(device: &str, panic: &(dyn Any + Send), advice: &str) -> Option<String> {
    let said = SAID.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let text = format!("{}\n{said}", message(panic).unwrap_or_default());
    if tells_of_memory(&text) {
        Some(format!("device `{device}` has too little memory for this stage: {advice}"))
    } else if LOST.iter().any(|words| text.contains(words)) {
        Some(format!("device `{device}` was lost: run the same command to resume"))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_of_a_failure_is_one_line_with_what_to_do() {
        let said = |text: &str| explain_failure("cuda:1", &text.to_owned(), "lower `batch_size`");
        for text in [
            "called `Result::unwrap()` on an `Err` value: out of device memory allocating 7 bytes\nmore",
            "An out-of-memory error happened during launch\nCaused by:",
            "CUDA out of memory. Tried to allocate 2.00 GiB",
            "wgpu error: Out of Memory\nNot enough memory left.",
            "The device is poisoned: Unknown: Out of memory",
        ] {
            assert_eq!(
                said(text).unwrap(),
                "device `cuda:1` has too little memory for this stage: lower `batch_size`"
            );
        }
        assert!(said("The device is poisoned: x").unwrap().starts_with("device `cuda:1` was lost"));
        assert_eq!(said("index out of bounds"), None);
    }

    #[cfg(feature = "wgpu")]
    #[test]
    fn too_large_a_tensor_is_told_as_too_little_memory() {
        use burn::tensor::Tensor;

        use crate::device::{DeviceKind, open, test_device};

        if test_device().kind != DeviceKind::Wgpu {
            return;
        }
        let device = open(test_device()).unwrap();
        // 9 GB: more than Vulkan gives to one tensor.
        let sum = catch_unwind(|| {
            Tensor::<2>::ones([1 << 15, 1 << 16], &device).sum().into_scalar::<f32>()
        });
        let said = explain_failure("wgpu:0", &*sum.unwrap_err(), "buy more");
        assert_eq!(said.unwrap(), "device `wgpu:0` has too little memory for this stage: buy more");
        let sum = Tensor::<1>::ones([3], &device).sum().into_scalar::<f32>();
        assert!((sum - 3.0).abs() < 1e-6, "the device goes on");
    }

    #[test]
    fn a_panic_is_an_error() {
        assert_eq!(catch(|| 3), Ok(3));
        let said = catch::<()>(|| panic!("no adapter\nat line 1")).unwrap_err();
        assert_eq!(first_line(&said), "no adapter");
    }
}
