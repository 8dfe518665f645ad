"""The case of conformance.json about streams."""
from conformance import Net, case, fails


@case
def streams(c):
    """streams: parts of sequences, a fork, a row that restarts, many in one call, the next id"""
    import numpy as np
    net = Net(c)
    net.input("x", None, 3)
    net.add("LSTM", ["x"], ["h"], {"units": 4, "return_sequences": True})
    net.add("Dense", ["h"], ["y"], {"units": 5})
    net.build(["x"], ["y"])
    x = c.draw("x", 2, 4, 3)

    def keras(values):
        return np.asarray(net.model(values))

    def run(stream, values, expected):
        c.tensor("part", values)
        c("stream_run", stream=stream, to=["out"], **{"in": ["part"]})
        c.expect("out", expected)

    whole = keras(x)
    c("session", model="m", to="s", options={"states": True})
    c("stream", session="s", to="two", options={"batch": 2})
    run("two", x[:, :1], whole[:, :1])
    c("stream_fork", stream="two", to="fork")
    for stream in "two", "fork":
        run(stream, x[:, 1:], whole[:, 1:])
    c("stream_reset", stream="fork", row=1)
    longer = keras(np.concatenate([x, x[:, :2]], 1))[:, 4:]
    run("fork", x[:, :2], np.stack([longer[0], whole[1, :2]]))
    c("stream_reset", stream="two")
    run("two", x, whole)

    for stream in "a", "b":
        c("stream", session="s", to=stream)
    c.tensor("part", x[:, :2])
    c("stream_run_many", streams=["a", "b"], counts=[2, 1], to=["out"], **{"in": ["part"]})
    c.expect("out", np.stack([whole[0, :2], np.stack([whole[1, 0], np.zeros(5, "float32")])]))
    run("b", x[1:, 1:2], whole[1:, 1:2])
    c.tensor("part", x[:, 2:3])
    c("stream_run_many", streams=["a", "b"], to=["out"], **{"in": ["part"]})
    c.expect("out", whole[:, 2:3])
    c.tensor("part", x[:1, 3:])
    c("stream_next", stream="a", options={"temperature": 0}, ids=[int(whole[0, 3].argmax())], **{"in": ["part"]})

    c("session", model="m", to="s", options={"states": True})
    c("stream", session="s", to="foreign")
    c("stream_run_many", streams=["a", "foreign"], to=["out"], **{"in": ["x"]},
      error=fails("INVALID_ARGUMENT", argument="streams"))
    c("stream_reset", stream="two", row=2, error="INVALID_ARGUMENT")
    c("session", model="m", to="s")
    c("stream", session="s", to="none", error="UNSUPPORTED")
