package crdt

import "testing"

func TestNewInfersTheMutator(t *testing.T) {
	s := New[ORSet[string]](1)
	if _, err := s.Update(func(tx *ORSetTx[string]) error { return tx.Add("a") }); err != nil {
		t.Fatal(err)
	}
}
