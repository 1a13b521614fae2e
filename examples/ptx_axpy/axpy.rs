//! y := a x + y, a thread for each element. ptx_axpy.cpp has no other code for it: axpy.ptx beside this file is what
//! `make_ptx.sh` made of it, with Debian's rustc 1.63.
#![no_std]
#![feature(abi_ptx, stdsimd)]

use core::arch::nvptx::{_block_dim_x, _block_idx_x, _thread_idx_x};
use core::slice::from_raw_parts;

/// Nothing here panics; the language asks for it all the same.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}

unsafe fn index() -> usize {
    _block_idx_x() as usize * _block_dim_x() as usize + _thread_idx_x() as usize
}

/// Each vector comes with its length. The device chooses the size of a block: some threads are beyond the last element.
/// `y` is no slice, which would belong to each of many threads.
#[no_mangle]
pub unsafe extern "ptx-kernel" fn axpy(x: *const f32, nx: usize, y: *mut f32, ny: usize, a: f32) {
    let i = index();
    if let (Some(x), true) = (from_raw_parts(x, nx).get(i), i < ny) {
        *y.add(i) += a * x;
    }
}
