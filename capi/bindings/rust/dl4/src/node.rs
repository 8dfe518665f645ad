use crate::error::{Code, Error, Result};

/// What a graph counts, and which graph: its number in this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    pub(crate) id: i32,
    pub(crate) graph: u64,
}

impl Place {
    /// The id, for calls of that graph.
    pub(crate) fn within(self, graph: u64, what: &str) -> Result<i32> {
        if self.graph == graph {
            return Ok(self.id);
        }
        Err(Error::refused(Code::InvalidArgument, what, "one of this graph", "one of another graph"))
    }
}

/// A symbolic value inside one graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Node(pub(crate) Place);

/// Where a call takes nodes, one alone will do.
impl AsRef<[Node]> for Node {
    fn as_ref(&self) -> &[Node] {
        std::slice::from_ref(self)
    }
}
