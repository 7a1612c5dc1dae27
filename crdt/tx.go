package crdt

import "iter"

// Tx is the mutations of one Update on one key. It sees its own writes and is valid only while the update function runs.
type Tx struct{}

func (t *Tx) Origin() Origin                                { return 0 }
func (t *Tx) Wall() int64                                   { return 0 }
func (t *Tx) Key() string                                   { return "" }
func (t *Tx) Reader() Reader                                { return Reader{} }
func (t *Tx) At(path string) []*Item                        { return nil }
func (t *Tx) Items(prefix string) iter.Seq[*Item]           { return func(func(*Item) bool) {} }
func (t *Tx) Put(path, payload string, removes []Dot) error { return nil }
func (t *Tx) Remove(path string) (bool, error)              { return false, nil } // all observed at path
func (t *Tx) RemoveAll(prefix string) (int, error)          { return 0, nil }     // all observed under prefix; "" empties the key
