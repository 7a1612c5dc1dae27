package crdt

// Flag is the view of a flag that is switched on once and for all: by any node, and until the key
// is deleted. It is one item at the path that is the kind alone.
type Flag struct{ on bool }

var _ Value[Flag, *FlagTx] = Flag{}

// Kind returns KindFlag.
func (Flag) Kind() Kind { return KindFlag }

// View reads a flag. A key that holds another type is ErrTypeClash.
func (Flag) View(r Reader) (Flag, error) {
	if err := r.CheckKind(KindFlag); err != nil {
		return Flag{}, err
	}
	return Flag{on: r.Has(KindFlag.Path())}, nil
}

// Mutator returns the flag's mutator.
func (Flag) Mutator(tx *Tx) *FlagTx { return (*FlagTx)(tx) }

// Enabled reports whether the flag is on.
func (f Flag) Enabled() bool { return f.on }

// FlagTx changes a flag within an Update. Its reads see its writes.
type FlagTx Tx

// Enable switches the flag on. It makes a new event also when the flag is on, which wins over a
// concurrent removal of the flag. A caller that enables again and again should ask Enabled first.
func (f *FlagTx) Enable() error { return (*Tx)(f).Replace(KindFlag.Path(), "") }

// Enabled reports whether the flag is on.
func (f *FlagTx) Enabled() bool { return (*Tx)(f).Has(KindFlag.Path()) }
