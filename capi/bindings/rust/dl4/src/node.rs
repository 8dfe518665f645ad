use crate::sys;

/// A symbolic value inside one graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Node(pub(crate) sys::dl4_node);

/// Where a call takes nodes, one alone will do.
impl AsRef<[Node]> for Node {
    fn as_ref(&self) -> &[Node] {
        std::slice::from_ref(self)
    }
}
