"""The docstrings of functions that are made in loops, or whose body is a line: their name, then what they give."""

_TEXT = """
allclose: whether |x1 - x2| <= atol + rtol |x2| everywhere: a bool scalar; NaN equal NaN with equal_nan
append: x2 behind x1 along an axis; flattened with axis None
argmax: the place of the largest number along an axis, int32; of the flattened tensor with axis None
argmin: the place of the smallest number along an axis, int32; of the flattened tensor with axis None
argpartition: places that put the kth number where sorting would, smaller ones before it
argsort: the places that sort x along an axis, int32; equal numbers keep their order
array: a tensor of numbers, lists or an array; Python's floats are float32, whole numbers int32
array_split: a list of parts along an axis, which need not be equal: a number of them, or the places to cut at
average: the mean along axes, weighted if weights are given
bartlett: the Bartlett window of x points: float32 (x,)
batch_normalization: (x - mean) / sqrt(variance + epsilon) * scale + offset, along an axis
binary_crossentropy: the cross-entropy of each number: target and output of one shape; output is logits with from_logits
bincount: how often each whole number occurs, or the sum of its weights: (max + 1,), at least minlength
blackman: the Blackman window of x points: float32 (x,)
broadcast_to: x repeated to a shape
categorical_crossentropy: the cross-entropy along an axis: target and output (..., classes), as probabilities or logits
cdist: the distances of all rows: (..., M, K) and (..., N, K) give (..., M, N)
cholesky: the lower (or upper) triangular factor of symmetric matrices (..., M, M)
cholesky_inverse: the inverse of the matrix that has this Cholesky factor
clip: x limited to x_min and x_max
concatenate: tensors one behind the other along an axis; their other sizes are equal
conj: the complex conjugate
conjugate: the complex conjugate
conv: a convolution of inputs (B, ..., C) with a kernel (..., C, filters); strides or dilation_rate, not both
conv_transpose: a transposed convolution: the gradient of a convolution by its inputs
convert_to_numpy: the numbers of a tensor as an array of NumPy's
convert_to_tensor: a tensor of numbers, lists or an array; Python's floats are float32, whole numbers int32
copy: a tensor of its own with the same numbers
corrcoef: the correlations of rows (N, observations): (N, N)
correlate: the cross-correlation of two lines; mode valid, same or full
count_nonzero: how many numbers are not 0, along axes: int32
cross: the cross product of vectors of 2 or 3 numbers along an axis
ctc_decode: decodes outputs (B, T, classes) by the rule of CTC, greedily or with a beam: (decoded, scores)
ctc_loss: the loss of CTC of targets (B, N) and outputs (B, T, classes) as logits: (B,)
cumprod: the products of all numbers so far, along an axis
cumsum: the sums of all numbers so far, along an axis
depth_to_space: blocks of channels become pixels: (B, H, W, C) gives (B, H b, W b, C / b^2)
depthwise_conv: a convolution of each channel with its own filters: kernel (..., C, multiplier)
det: the determinants of matrices (..., M, M): (...)
diag: a matrix with x on its kth diagonal, or that diagonal of a matrix
diagflat: a matrix with the flattened x on its kth diagonal
diagonal: the diagonal of two axes, as the last axis
diff: differences of neighbours along an axis, n times
digitize: the number of the bin of each number; bins are limits in rising order
dot: the sum of products over the last axis of x1 and the last but one of x2; a product with a number of x2
dsplit: a list of parts along the third axis
dstack: tensors one behind the other along the third axis
dtype: the type of a tensor, by name: "float32"
eig: eigenvalues (..., M) and eigenvectors (..., M, M) of matrices
eigh: eigenvalues in rising order and eigenvectors of symmetric matrices
einsum: sums of products by an equation: einsum("ij,jk->ik", a, b)
empty_like: zeros of the shape and type of x
expand_dims: x with new axes of size 1
extract_sequences: windows of x (..., length): (..., windows, sequence_length), one each sequence_stride
eye: a matrix of N rows and M columns with 1 on its kth diagonal
fabs: |x| as a float
fft: the Fourier transform of the last axis: a pair of real and imaginary parts gives such a pair
fft2: the Fourier transform of the last two axes, of pairs
flip: x in reverse along axes; along all with axis None
fliplr: x in reverse along the second axis
flipud: x in reverse along the first axis
fmax: the larger of two numbers; a number where the other is NaN
fmin: the smaller of two numbers; a number where the other is NaN
fold: patches (B, C k k, L) summed into pictures: the reverse of unfold
full_like: a tensor of the shape of x that holds one number
gcd: the greatest common divisor of whole numbers
geomspace: num numbers from start to stop whose quotients are equal
hamming: the Hamming window of x points: float32 (x,)
hanning: the Hann window of x points: float32 (x,)
histogram: counts (bins,) and limits (bins + 1,) of the numbers of x
hsplit: a list of parts along the second axis; along the first of a line
hstack: tensors one behind the other along the second axis; along the first of lines
i0: the modified Bessel function of order 0
identity: a matrix of n rows with 1 on its diagonal
ifft2: the inverse Fourier transform of the last two axes, of pairs
imag: the imaginary part
in_top_k: whether the target (B,) is among the k largest predictions (B, classes): bool (B,)
inner: the sum of products over the last axes
inv: the inverses of matrices (..., M, M)
irfft: the real numbers of a spectrum, a pair (..., fft_length / 2 + 1)
is_keras_tensor: whether x is symbolic
isclose: whether |x1 - x2| <= atol + rtol |x2|, for each number: bool
isin: whether each number of x1 is in x2: bool
isreal: whether the imaginary part is 0: bool
istft: the line whose short-time spectra are a pair (..., frames, fft_length / 2 + 1)
kaiser: the Kaiser window of x points: float32 (x,)
kron: the Kronecker product
layer_normalization: (x - mean) / sqrt(variance + epsilon) over axes, times gamma plus beta
lcm: the least common multiple of whole numbers
ldexp: x1 times 2 to the power of x2
linspace: num numbers from start to stop at equal distances
log_softmax: the logarithm of softmax along an axis
logdet: the logarithms of the determinants of positive matrices
logspace: base to the power of num numbers from start to stop
logsumexp: log(sum(exp(x))) along axes, without overflow
lstsq: the x that makes |a x - b| least
lu_factor: the LU factors in one matrix, and the pivots
matmul: the matrix product of the last two axes; leading axes broadcast
matrix_rank: how many singular values are above a tolerance
median: the median along axes
meshgrid: the coordinates of a grid: of lines, one tensor each
moments: mean and variance along axes
moveaxis: x with axes moved to other places
multi_hot: a vector (..., num_classes) with 1 at each of the indices (..., N)
nan_to_num: x with numbers in place of NaN and infinity
nanargmax: argmax that leaves NaN out
nanargmin: argmin that leaves NaN out
nancumprod: cumprod that takes NaN for 1
nancumsum: cumsum that takes NaN for 0
nanmax: max that leaves NaN out
nanmean: mean that leaves NaN out
nanmedian: median that leaves NaN out
nanmin: min that leaves NaN out
nanpercentile: percentile that leaves NaN out
nanprod: prod that leaves NaN out
nanquantile: quantile that leaves NaN out
nanstd: std that leaves NaN out
nansum: sum that leaves NaN out
nanvar: var that leaves NaN out
ndim: the number of axes
nextafter: the next float after x1 in the direction of x2
nonzero: the places that are not 0: a tuple with the indices of each axis
norm: the norm of vectors or matrices along axes: ord None, "fro", "nuc", inf or a number
normalize: x over its norm along an axis
one_hot: vectors (..., num_classes) with 1 at the index x
ones_like: ones of the shape and type of x
outer: the products of all numbers of x1 with all of x2: (N, M)
pad: x with numbers around it: pad_width ((before, after), ...); mode constant, reflect, symmetric ...
percentile: the number below which q percent lie, along axes
pinv: the pseudoinverse of matrices
psnr: the peak signal-to-noise ratio of two pictures whose largest value is max_val, in decibels
ptp: the largest number less the smallest, along axes
qr: matrices q and r whose product is x
quantile: the number below which the fraction q lies, along axes
ravel: x as a line
real: the real part
repeat: each number repeats times, along an axis; of the flattened x with axis None
reshape: the same numbers in another shape; -1 stands for one size that follows
rfft: the spectrum of real numbers along the last axis: a pair (..., fft_length / 2 + 1)
rms_normalization: x / sqrt(mean(x^2) + epsilon) along an axis, times scale
roll: x shifted along axes; what leaves at one end comes in at the other
rot90: x turned by 90 degrees in the plane of two axes, k times
round: x rounded to decimals, halves to even
saturate_cast: x in another type, limited to what that holds
scatter: zeros of a shape with values added at indices (N, axes)
scatter_update: inputs with updates at indices (N, axes)
searchsorted: where values stand in a sorted line, before (left) or behind (right) equal numbers
segment_min: the least of the rows of each segment: (num_segments, ...)
segment_prod: the product of the rows of each segment: (num_segments, ...)
select: of each place the choice of the first condition that holds, else default
separable_conv: a convolution of each channel, then one across channels
signbit: whether the sign bit is set: bool
sinc: sin(pi x) / (pi x), 1 at 0
slice: a part of a shape that begins at start_indices
slice_update: inputs with a part replaced by updates, from start_indices on
slogdet: sign and logarithm of the determinants of matrices
softmax: exp(x) over its sum along an axis
solve: the x with a x = b
solve_triangular: the x with a x = b for a triangular a
sort: x in rising order along an axis
space_to_depth: blocks of pixels become channels: (B, H, W, C) gives (B, H / b, W / b, C b^2)
sparse_categorical_crossentropy: the cross-entropy of class numbers: target (...), output (..., classes)
split: a list of equal parts along an axis, a number of them, or the places to cut at
squeeze: x without axes of size 1
stack: tensors of one shape along a new axis
stft: the spectra of windows of x (..., length): a pair (..., frames, fft_length / 2 + 1)
stop_gradient: the same numbers, through which no gradient flows
svd: singular values s, and with compute_uv the matrices u and v: (u, s, v)
swapaxes: x with two axes exchanged
take: the parts of x at indices along an axis; of the flattened x with axis None
tensordot: the sum of products over the last axes of x1 and the first of x2, or over the axes given
tile: x repeated along each axis
top_k: the k largest numbers of the last axis and their places: (values, indices)
trace: the sum of the diagonal of two axes
transpose: x with its axes in another order; reversed with axes None
trapezoid: the integral of y along an axis by the trapezoidal rule
tri: a matrix with 1 at and below its kth diagonal
unfold: the patches of pictures: (B, H, W, C) gives (B, C k k, L)
unique: the numbers of x once each; with indices, inverse and counts if they are asked for
unravel_index: the index in each axis of places in the flattened shape
unstack: a list of the parts along an axis
vander: the Vandermonde matrix of a line
vdot: the sum of the products of all numbers
view: the same bits as numbers of another type
vsplit: a list of parts along the first axis
vstack: tensors one behind the other along the first axis; lines become rows
where: x1 where the condition holds, else x2; with the condition alone the places where it holds
zeros_like: zeros of the shape and type of x
"""
DOCS = dict(line.split(": ", 1) for line in _TEXT.strip().splitlines())


def describe(functions):
    """Gives functions, by name, the docstring that they lack."""
    for name, said in DOCS.items():
        function = functions[name]
        if not function.__doc__:
            function.__doc__ = f"{said[0].upper()}{said[1:]}."
