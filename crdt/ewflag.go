package crdt

// EWFlag is the view of a flag that can be switched on and off, of which a concurrent Enable wins
// over a Disable: Disable takes away only the enables that it observed. It is one item at the path
// that is the kind alone.
type EWFlag struct{ on bool }

var _ Value[EWFlag, *EWFlagTx] = EWFlag{}

// Kind returns KindEWFlag.
func (EWFlag) Kind() Kind { return KindEWFlag }

// View reads a flag. A key that holds another type is ErrTypeClash.
func (EWFlag) View(r Reader) (EWFlag, error) {
	if err := r.CheckKind(KindEWFlag); err != nil {
		return EWFlag{}, err
	}
	return EWFlag{on: r.Has(KindEWFlag.Path())}, nil
}

// Mutator returns the flag's mutator.
func (EWFlag) Mutator(tx *Tx) *EWFlagTx { return (*EWFlagTx)(tx) }

// Enabled reports whether the flag is on.
func (f EWFlag) Enabled() bool { return f.on }

// EWFlagTx changes a flag within an Update. Its reads see its writes.
type EWFlagTx Tx

// Enable switches the flag on. It makes a new event also when the flag is on: it wins over a
// concurrent Disable.
func (f *EWFlagTx) Enable() error { return (*Tx)(f).Replace(KindEWFlag.Path(), "") }

// Disable switches the flag off; it does nothing when it is off. An Enable that this replica has
// not seen yet survives.
func (f *EWFlagTx) Disable() error {
	_, err := (*Tx)(f).Remove(KindEWFlag.Path())
	return err
}

// Enabled reports whether the flag is on.
func (f *EWFlagTx) Enabled() bool { return (*Tx)(f).Has(KindEWFlag.Path()) }
