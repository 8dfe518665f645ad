use crate::call::shape;
use crate::error::{string, Result};
use crate::handle::Handle;
use crate::sys;
use crate::tensor::DType;

/// An input or output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    pub name: String,
    /// -1 is free.
    pub shape: Vec<i64>,
    pub dtype: DType,
}

impl<T> Handle<T> {
    pub(crate) fn port_count(&self, which: i32) -> usize {
        // SAFETY: a live object.
        unsafe { sys::dl4_port_count(self.as_ptr() as *const _, which) as usize }
    }

    pub(crate) fn ports(&self, which: i32) -> Result<Vec<Port>> {
        let o = self.as_ptr() as *const _;
        // SAFETY: a live object; i is below the count.
        let port = |i| unsafe {
            Ok(Port {
                name: string(sys::dl4_port_name(o, which, i)),
                shape: shape(|dims, cap, rank| sys::dl4_port_shape(o, which, i, dims, cap, rank))?,
                dtype: DType::of(sys::dl4_port_dtype(o, which, i)),
            })
        };
        (0..self.port_count(which) as i64).map(port).collect()
    }
}
