use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::os::raw::c_void;
use std::ptr;

use crate::call::{made, Format};
use crate::callback;
use crate::context::Context;
use crate::error::{check, Code, Error, Result};
use crate::handle::Handle;
use crate::sys;

/// Types of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DType {
    F32 = sys::DL4_FLOAT32 as isize,
    /// Of tensors only: values in a graph are never of it.
    F64 = sys::DL4_FLOAT64 as isize,
    I32 = sys::DL4_INT32 as isize,
    I64 = sys::DL4_INT64 as isize,
    U8 = sys::DL4_UINT8 as isize,
    Bool = sys::DL4_BOOL as isize,
    /// Bytes of any number each, UTF-8 by convention: see [`Tensor::from_strings`] and [`Tensor::bytes`].
    String = sys::DL4_STRING as isize,
    /// Reserved: refused by the library.
    F16 = sys::DL4_FLOAT16 as isize,
    /// Reserved: refused by the library.
    BF16 = sys::DL4_BFLOAT16 as isize,
}

impl DType {
    pub(crate) fn of(number: i32) -> DType {
        match number {
            sys::DL4_FLOAT32 => DType::F32,
            sys::DL4_FLOAT64 => DType::F64,
            sys::DL4_INT32 => DType::I32,
            sys::DL4_INT64 => DType::I64,
            sys::DL4_UINT8 => DType::U8,
            sys::DL4_BOOL => DType::Bool,
            sys::DL4_STRING => DType::String,
            sys::DL4_FLOAT16 => DType::F16,
            sys::DL4_BFLOAT16 => DType::BF16,
            other => unreachable!("an unknown type of data {}", other),
        }
    }
}

/// As Keras names it: `float32`.
impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DType::F32 => "float32",
            DType::F64 => "float64",
            DType::I32 => "int32",
            DType::I64 => "int64",
            DType::U8 => "uint8",
            DType::Bool => "bool",
            DType::String => "string",
            DType::F16 => "float16",
            DType::BF16 => "bfloat16",
        })
    }
}

mod sealed {
    pub trait Sealed {}
}

/// What a tensor may hold.
pub trait Element: sealed::Sealed + Copy + Send + Sync + 'static {
    const DTYPE: DType;
}

macro_rules! elements {
    ($($of:ty: $dtype:ident),*) => {
        $(impl sealed::Sealed for $of {}
        impl Element for $of {
            const DTYPE: DType = DType::$dtype;
        })*
    };
}
elements! { f32: F32, f64: F64, i32: I32, i64: I64, u8: U8, bool: Bool }

/// Numbers with a type and a shape, row-major, in memory of their own (`Tensor<'static>`) or over a slice of yours.
///
/// ```
/// use dl4::Tensor;
///
/// let mut t = Tensor::zeros::<f32>(&[2, 3])?;
/// t.data_mut::<f32>()?[5] = 1.0;
/// assert_eq!((t.dims(), t.to_vec::<f32>()?), (&[2, 3][..], vec![0.0, 0.0, 0.0, 0.0, 0.0, 1.0]));
/// # Ok::<(), dl4::Error>(())
/// ```
///
/// A tensor over a slice cannot outlive it:
///
/// ```compile_fail,E0597
/// let tensor = {
///     let mut values = vec![1.0f32, 2.0];
///     dl4::Tensor::over(&mut values, &[2]).unwrap()
/// };
/// tensor.dims();
/// ```
///
/// nor be looked at while the slice is changed:
///
/// ```compile_fail,E0506
/// let mut values = [1.0f32, 2.0];
/// let view = dl4::Tensor::view(&values, &[2]).unwrap();
/// values[0] = 3.0;
/// view.dims();
/// ```
#[repr(transparent)]
pub struct Tensor<'a> {
    handle: Handle<sys::dl4_tensor>,
    over: PhantomData<&'a mut [u8]>,
}

// SAFETY: dl4.h, "Tensors": threads: any, at once; the bytes are read through &, written through &mut.
unsafe impl Send for Tensor<'_> {}
unsafe impl Sync for Tensor<'_> {}

/// A tensor to be read only, over a slice that others read too.
pub struct View<'a>(Tensor<'a>);

impl<'a> Deref for View<'a> {
    type Target = Tensor<'a>;
    fn deref(&self) -> &Tensor<'a> {
        &self.0
    }
}

fn rank_of(dims: &[i64]) -> i32 {
    i32::try_from(dims.len()).unwrap_or(i32::MAX)
}

impl Tensor<'static> {
    pub fn zeros<T: Element>(dims: &[i64]) -> Result<Tensor<'static>> {
        Tensor::zeros_in(&Context::default(), T::DTYPE, dims)
    }

    /// Zeros in the memory of a context.
    pub fn zeros_in(context: &Context, dtype: DType, dims: &[i64]) -> Result<Tensor<'static>> {
        let c = context.as_ptr();
        // SAFETY: dims are as many as it is said.
        made(|out| unsafe { sys::dl4_tensor_create(c, dtype as i32, rank_of(dims), dims.as_ptr(), out) })
            .map(Tensor::of)
    }

    /// A copy of values.
    pub fn copy_of<T: Element>(values: &[T], dims: &[i64]) -> Result<Tensor<'static>> {
        Tensor::from_vec(values.to_vec(), dims)
    }

    /// A copy of strings, or of bytes. Such a tensor is never written.
    ///
    /// ```
    /// let t = dl4::Tensor::from_strings(&["a", "é", ""], &[3, 1])?;
    /// assert_eq!((t.dtype(), t.bytes(1)), (dl4::DType::String, Some("é".as_bytes())));
    /// assert!(dl4::Tensor::from_strings(&["a"], &[2]).is_err());
    /// # Ok::<(), dl4::Error>(())
    /// ```
    pub fn from_strings<S: AsRef<[u8]>>(strings: &[S], dims: &[i64]) -> Result<Tensor<'static>> {
        let elements = dims.iter().try_fold(1i64, |n, &d| n.checked_mul(d));
        if elements != i64::try_from(strings.len()).ok() {
            let expected = format!("as many as {:?} has elements", dims);
            return Err(Error::refused(Code::InvalidArgument, "strings", expected, strings.len().to_string()));
        }
        let data: Vec<_> = strings.iter().map(|s| s.as_ref().as_ptr() as *const std::os::raw::c_char).collect();
        let lengths: Vec<i64> = strings.iter().map(|s| s.as_ref().len() as i64).collect();
        // SAFETY: as many strings and lengths as dims say, which are copied.
        made(|out| unsafe {
            sys::dl4_tensor_from_strings(
                ptr::null_mut(),
                rank_of(dims),
                dims.as_ptr(),
                data.as_ptr(),
                lengths.as_ptr(),
                out,
            )
        })
        .map(Tensor::of)
    }

    /// Takes a vector over, without a copy.
    pub fn from_vec<T: Element>(values: Vec<T>, dims: &[i64]) -> Result<Tensor<'static>> {
        unsafe extern "C" fn free<T>(user: *mut c_void) {
            callback::quiet(|| drop(Box::from_raw(user as *mut Vec<T>)));
        }
        let user = Box::into_raw(Box::new(values));
        // SAFETY: the vector lives until the library releases it; on failure it does not, and it is ours again.
        unsafe {
            let (data, bytes) = ((*user).as_mut_ptr(), std::mem::size_of_val((*user).as_slice()));
            wrap(T::DTYPE, dims, None, data as *mut c_void, bytes, Some(free::<T>), user as *mut c_void).map_err(|e| {
                drop(Box::from_raw(user));
                e
            })
        }
    }

    /// A DLPack tensor that takes this one over; free it by its own deleter, on any thread.
    pub fn into_dlpack(self, versioned: bool) -> Result<*mut c_void> {
        let mut out = ptr::null_mut();
        // SAFETY: a live object, a place for a pointer.
        check(unsafe { sys::dl4_tensor_to_dlpack(self.as_ptr(), versioned.into(), &mut out) })?;
        Ok(out)
    }
}

/// # Safety
/// `data` [bytes] lives, and is not used against the rules of references, as long as the tensor.
unsafe fn wrap<'a>(
    dtype: DType,
    dims: &[i64],
    strides: Option<&[i64]>,
    data: *mut c_void,
    bytes: usize,
    release: sys::dl4_release_fn,
    user: *mut c_void,
) -> Result<Tensor<'a>> {
    let strides = strides.map_or(ptr::null(), |s| s.as_ptr());
    made(|out| {
        sys::dl4_tensor_wrap(
            ptr::null_mut(),
            dtype as i32,
            rank_of(dims),
            dims.as_ptr(),
            strides,
            data,
            bytes as i64,
            release,
            user,
            out,
        )
    })
    .map(Tensor::of)
}

impl<'a> Tensor<'a> {
    pub(crate) fn of(handle: Handle<sys::dl4_tensor>) -> Tensor<'a> {
        Tensor { handle, over: PhantomData }
    }

    /// Over a slice that is yours, to be read and written, without a copy.
    pub fn over<T: Element>(values: &'a mut [T], dims: &[i64]) -> Result<Tensor<'a>> {
        let bytes = std::mem::size_of_val(values);
        // SAFETY: the slice is borrowed as long as the tensor lives.
        unsafe { wrap(T::DTYPE, dims, None, values.as_mut_ptr() as *mut c_void, bytes, None, ptr::null_mut()) }
    }

    /// Over a slice that is yours, to be read, without a copy.
    pub fn view<T: Element>(values: &'a [T], dims: &[i64]) -> Result<View<'a>> {
        let bytes = std::mem::size_of_val(values);
        // SAFETY: the slice is borrowed as long as the tensor lives; a View is never written.
        unsafe { wrap(T::DTYPE, dims, None, values.as_ptr() as *mut c_void, bytes, None, ptr::null_mut()) }.map(View)
    }

    /// The same with strides, in elements.
    pub fn strided_view<T: Element>(values: &'a [T], dims: &[i64], strides: &[i64]) -> Result<View<'a>> {
        if dims.len() != strides.len() {
            let expected = format!("one for each of {} dimensions", dims.len());
            return Err(Error::refused(Code::InvalidArgument, "strides", expected, strides.len().to_string()));
        }
        let bytes = std::mem::size_of_val(values);
        let data = values.as_ptr() as *mut c_void;
        // SAFETY: as of view().
        unsafe { wrap(T::DTYPE, dims, Some(strides), data, bytes, None, ptr::null_mut()) }.map(View)
    }

    /// A dense copy with memory of its own.
    pub fn try_clone(&self) -> Result<Tensor<'static>> {
        // SAFETY: a live object.
        made(|out| unsafe { sys::dl4_tensor_clone(self.as_ptr(), out) }).map(Tensor::of)
    }

    pub fn dtype(&self) -> DType {
        // SAFETY: a live object.
        unsafe { dtype(self.as_ptr()) }
    }

    pub fn dims(&self) -> &[i64] {
        // SAFETY: a live object, which owns its dims.
        unsafe { dims(self.as_ptr()) }
    }

    /// In elements, of each dimension.
    pub fn strides(&self) -> &[i64] {
        // SAFETY: a live object, which owns its strides.
        unsafe { slice(sys::dl4_tensor_strides(self.as_ptr()), self.dims().len()) }
    }

    /// The elements where they lie; of a tensor of that type that is dense.
    pub fn data<T: Element>(&self) -> Result<&[T]> {
        // SAFETY: borrowed from a tensor that no one writes through & .
        unsafe { elements(self.as_ptr()).map(|(data, n)| slice(data, n)) }
    }

    /// The same to be written.
    pub fn data_mut<T: Element>(&mut self) -> Result<&mut [T]> {
        // SAFETY: this is the only reference to a tensor that may be written.
        unsafe { elements(self.as_ptr()).map(|(data, n)| slice_mut(data, n)) }
    }

    /// The bytes of string `i`, row-major, where they lie; none of a tensor of numbers.
    pub fn bytes(&self, i: usize) -> Option<&[u8]> {
        let mut n = 0;
        // SAFETY: a live object, which owns its strings.
        unsafe {
            let s = sys::dl4_tensor_string(self.as_ptr(), i64::try_from(i).ok()?, &mut n);
            if s.is_null() {
                None
            } else {
                Some(slice(s as *const u8, n as usize))
            }
        }
    }

    /// A copy of the elements, row-major.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        match self.data() {
            Ok(values) => Ok(values.to_vec()),
            Err(_) if self.dtype() == T::DTYPE => Ok(self.try_clone()?.data()?.to_vec()),
            Err(e) => Err(e),
        }
    }

    /// Copies dense values in.
    pub fn copy_from<T: Element>(&mut self, values: &[T]) -> Result<()> {
        need_dtype::<T>(self.dtype())?;
        let bytes = std::mem::size_of_val(values) as i64;
        // SAFETY: that many bytes of values of this type.
        check(unsafe { sys::dl4_tensor_copy_in(self.as_ptr(), values.as_ptr() as *const c_void, bytes) })
    }

    /// A view of a DLPack tensor on the CPU, without a copy; versioned if it is a `DLManagedTensorVersioned`.
    ///
    /// # Safety
    /// `managed` is such a tensor, yours to give away, and its memory is not written while the view lives.
    pub unsafe fn from_dlpack(managed: *mut c_void, versioned: bool) -> Result<View<'static>> {
        made(|out| sys::dl4_tensor_from_dlpack(ptr::null_mut(), versioned.into(), managed, out))
            .map(Tensor::of)
            .map(View)
    }

    pub fn describe(&self, format: Format) -> Result<String> {
        self.handle.describe(format)
    }

    /// For calls of [`sys`](crate::sys).
    pub fn as_ptr(&self) -> *mut sys::dl4_tensor {
        self.handle.as_ptr()
    }

    pub(crate) fn into_raw(self) -> *mut sys::dl4_tensor {
        self.handle.into_raw()
    }
}

impl fmt::Debug for Tensor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tensor({} {:?})", self.dtype(), self.dims())
    }
}

impl fmt::Debug for View<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

// ---- Shared with the tensors that a kind of yours is given. Safety: t is a live tensor.

pub(crate) unsafe fn dtype(t: *const sys::dl4_tensor) -> DType {
    DType::of(sys::dl4_tensor_dtype(t))
}

pub(crate) unsafe fn dims<'t>(t: *const sys::dl4_tensor) -> &'t [i64] {
    slice(sys::dl4_tensor_dims(t), sys::dl4_tensor_rank(t) as usize)
}

fn need_dtype<T: Element>(got: DType) -> Result<()> {
    if got == T::DTYPE {
        return Ok(());
    }
    Err(Error::refused(Code::ShapeMismatch, "tensor", format!("elements of {}", T::DTYPE), got.to_string()))
}

/// The first element and how many there are.
pub(crate) unsafe fn elements<T: Element>(t: *const sys::dl4_tensor) -> Result<(*mut T, usize)> {
    need_dtype::<T>(dtype(t))?;
    let (dims, mut dense) = (dims(t), 1);
    let count = dims.iter().product::<i64>() as usize;
    let strides = slice(sys::dl4_tensor_strides(t), dims.len());
    for (&dim, &stride) in dims.iter().zip(strides).rev() {
        if dim != 1 && stride != dense && count > 0 {
            let got = format!("strides {:?} of {:?}", strides, dims);
            return Err(Error::refused(Code::Unsupported, "tensor", "a dense one", got));
        }
        dense *= dim;
    }
    let data = sys::dl4_tensor_data(t) as *mut T;
    if T::DTYPE == DType::Bool && slice(data as *const u8, count).iter().any(|&b| b > 1) {
        return Err(Error::refused(Code::InvalidArgument, "tensor", "bytes 0 and 1 of bool", "others"));
    }
    Ok((data, count))
}

// Of nothing, where the pointer is NULL.
pub(crate) unsafe fn slice<'t, T>(data: *const T, n: usize) -> &'t [T] {
    if n == 0 {
        return &[];
    }
    std::slice::from_raw_parts(data, n)
}

pub(crate) unsafe fn slice_mut<'t, T>(data: *mut T, n: usize) -> &'t mut [T] {
    if n == 0 {
        return &mut [];
    }
    std::slice::from_raw_parts_mut(data, n)
}

/// The handles of a list of tensors, without an allocation where they are few.
pub(crate) struct Handles {
    few: [*mut sys::dl4_tensor; Handles::FEW],
    many: Vec<*mut sys::dl4_tensor>,
    count: usize,
}

impl Handles {
    const FEW: usize = 8;

    #[inline]
    pub(crate) fn new(all: impl ExactSizeIterator<Item = *mut sys::dl4_tensor>) -> Handles {
        let mut handles = Handles { few: [ptr::null_mut(); Handles::FEW], many: Vec::new(), count: all.len() };
        if handles.count > Handles::FEW {
            handles.many = all.collect();
        } else {
            for (slot, t) in handles.few.iter_mut().zip(all) {
                *slot = t;
            }
        }
        handles
    }

    #[inline]
    pub(crate) fn of(tensors: &[&Tensor<'_>]) -> Handles {
        Handles::new(tensors.iter().map(|t| t.as_ptr()))
    }

    pub(crate) fn optional(tensors: &[Option<&Tensor<'_>>]) -> Handles {
        Handles::new(tensors.iter().map(|t| t.map_or(ptr::null_mut(), |t| t.as_ptr())))
    }

    #[inline]
    pub(crate) fn as_ptr(&self) -> *const *mut sys::dl4_tensor {
        if self.many.is_empty() {
            self.few.as_ptr()
        } else {
            self.many.as_ptr()
        }
    }

    #[inline]
    pub(crate) fn as_mut_ptr(&mut self) -> *mut *mut sys::dl4_tensor {
        if self.many.is_empty() {
            self.few.as_mut_ptr()
        } else {
            self.many.as_mut_ptr()
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> i64 {
        self.count as i64
    }
}

/// What a call puts into `n` slots that are NULL.
pub(crate) fn new_tensors(
    n: usize,
    call: impl FnOnce(*mut *mut sys::dl4_tensor, i64) -> *mut sys::dl4_error,
) -> Result<Vec<Tensor<'static>>> {
    let mut out = Handles::new((0..n).map(|_| ptr::null_mut()));
    let e = call(out.as_mut_ptr(), n as i64);
    // SAFETY: that many slots, whose references are ours: released if a panic goes on.
    let all = unsafe { slice(out.as_mut_ptr(), n) }.iter().filter_map(|&t| Handle::new(t)).map(Tensor::of).collect();
    check(e)?;
    Ok(all)
}
