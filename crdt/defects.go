package crdt

// Defects are planted errors. Only the simulator's self-test sets them, to prove that the suite
// notices each.
type Defects struct {
	DropLosingSibling      bool // breaks R1: apply drops the lesser of two concurrent puts at one path
	BareFactWithoutRemover bool // breaks R2: superseded puts are shipped without payload and remover
	ClockBeforeItems       bool // breaks R4: a merge joins the clocks first and so inserts nothing
	UnionDrops             bool // breaks R5: a union drops what the other side lacks
	ShowRemoved            bool // breaks R8: node-owned items of removed nodes are shown until they are swept
	LoadUnverified         bool // breaks R3: rows are taken as they are, whatever their commit said
	WeakSketch             bool // breaks nothing: sketches mix up dots, so that repairs find out and take another way
}
