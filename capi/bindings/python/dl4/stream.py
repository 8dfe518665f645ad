"""Streams, which run a model step by step."""

import ctypes as C

from .abi import Object, call, callbacks, check, content, library, made, options_text
from .cancel import check_call, heard, inside, interruptible
from .tensor import NAMES, Tensor, handles, numpy_module

_NO_LOGITS = callbacks["dl4_logits_fn"]()


class Stream(Object):
    """Runs a model step by step and keeps its states.

    The session must have been made with states=True. `seed`: of the generator for next() and generate().
    """

    __slots__ = ("count", "session", "batch")

    def __init__(self, session, batch=1, seed=0, handle=None):
        self.session, self.batch = session, batch
        options = options_text({"batch": batch, "seed": seed})
        super().__init__(made("dl4_stream_create", session, options) if handle is None else handle)
        self.count = library.dl4_port_count(self, 1)

    def run(self, inputs):
        """Runs the next steps; inputs and outputs as in Session.run()."""
        outs, given = (C.c_void_p * self.count)(), self.session._given(inputs)
        check(library.dl4_stream_run(self.handle, *handles(given), outs, self.count, None))
        return [Tensor(out) for out in outs]

    def __call__(self, x):
        """Runs the next steps on arrays [B, T, ...]; returns an array, or a list if the model has several outputs."""
        outputs = [t.numpy() for t in self.run(x)]
        return outputs[0] if self.count == 1 else outputs

    @staticmethod
    def run_many(streams, inputs, steps=None):
        """Runs the next steps of many streams of one session in one call, which is faster than one call for each.

        Row i of the inputs and outputs belongs to streams[i], which takes steps[i] of the T steps; without `steps` all
        of them. The outputs have as many steps as the longest.
        """
        streams = list(streams)
        if not streams:
            raise ValueError("run_many: expected at least 1 stream, got 0")
        if steps is not None and len(steps) != len(streams):
            raise ValueError(f"run_many: expected {len(streams)} numbers of steps, one of each stream, got {len(steps)}")
        count = streams[0].count
        outs, given = (C.c_void_p * count)(), streams[0].session._given(inputs)
        of_each = None if steps is None else (C.c_int64 * len(streams))(*map(int, steps))
        list_, n = handles(streams)
        check(library.dl4_stream_run_many(list_, n, of_each, *handles(given), outs, count, None))
        return [Tensor(out) for out in outs]

    def next(self, inputs, temperature=1.0, top_k=0, top_p=1.0, stop=(), from_logits=True, mask=None):
        """Runs the next steps and draws the next id of each sequence; returns a list.

        The model's output is the logits of ids, or with from_logits=False their probabilities. mask(logits) may change
        the array [B, V] in place: ids with -inf (of probabilities: 0) are not drawn. A sequence that has drawn an id
        of `stop` gets that id again until reset().
        """
        options = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "from_logits": from_logits}
        options = options_text({**options, "stop": [int(i) for i in stop]})
        ids, failures = (C.c_int64 * self.batch)(), []

        def change(_, logits):
            try:
                library.dl4_retain(logits)
                with inside:
                    mask(Tensor(logits).numpy())
                return 0
            except BaseException as e:  # comes back as itself when the call ends
                failures.append(e)
                return -1

        function = callbacks["dl4_logits_fn"](change) if mask is not None else _NO_LOGITS
        given = self.session._given(inputs)
        with heard() as lost, interruptible() as flag:
            error = library.dl4_stream_next(self.handle, *handles(given), options, function, None, ids, self.batch, flag)
            check_call(error, failures + lost)
        return list(ids)

    def generate(self, ids, max_new=None, stop=(), **options):
        """Draws ids one by one, after the prompt `ids`: a list for a stream of batch 1, else an array [B, T].

        Returns an iterator of ints, or of arrays [B]. It ends after max_new ids, or when each sequence has drawn an id
        of `stop`, which is the last one. The options are those of next().
        """
        np = numpy_module()
        given = np.asarray(ids)
        single = given.ndim == 1
        if given.ndim not in (1, 2) or given.size == 0 or given.dtype.kind not in "iu":
            raise ValueError(f"generate: expected ids, at least one, got {ids!r}")
        if single:
            given = given[None]
        if given.shape[0] != self.batch:
            raise ValueError(f"generate: expected ids of {self.batch} sequences, got shape {given.shape}")
        stop = [int(i) for i in stop]
        return self._drawn(given, np.inf if max_new is None else max_new, stop, single, options)

    def _drawn(self, given, max_new, stop, single, options):
        np = numpy_module()
        dtype, count = NAMES[library.dl4_port_dtype(self, 0, 0)], 0
        while count < max_new:
            ids = self.next([given.astype(dtype)], stop=stop, **options)
            yield ids[0] if single else np.array(ids)
            count += 1
            if all(i in stop for i in ids):
                return
            given = np.array(ids)[:, None]

    def fork(self, seed=None):
        """A second stream that continues from here, with a copy of the states.

        With a seed it has a new generator, else it draws what this one draws.
        """
        options = None if seed is None else options_text({"seed": seed})
        return Stream(self.session, self.batch, handle=made("dl4_stream_fork", self, options))

    def reset(self, row=None):
        """Restarts all sequences, or one of them."""
        call("dl4_stream_reset", self) if row is None else call("dl4_stream_reset_row", self, row)

    def save(self):
        """Returns the states as bytes, for load()."""
        return content(made("dl4_stream_save_bytes", self))

    def load(self, state):
        """Sets the states to what save() gave."""
        call("dl4_stream_load_bytes", self, state, len(state))
