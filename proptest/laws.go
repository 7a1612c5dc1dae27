package proptest

import (
	"errors"
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/coterie-go/coterie/crdt"
)

// Laws is what a data type is held to: V its view, T its mutator, O an operation on it. Fill it in
// and Check it in a test.
type Laws[V crdt.Value[V, T], T, O any] struct {
	// Op draws one operation. Let it draw from few elements, so that operations meet, and print
	// well, for the history of a failure shows it. An O is not changed by anybody: what Do does
	// must follow from the operation and from what the mutator reads.
	Op *rapid.Generator[O]

	// Do carries an operation out. An error of it breaks a law: operations that may be refused want
	// a test of their own.
	Do func(m T, op O) error

	// Value turns what a view reads into a value that reflect.DeepEqual compares and that prints
	// well. Take in all that the view offers (elements and their number, a look at one that is
	// there and at one that is not), for only what is here is judged. Empty and nil are the same.
	Value func(v V) any

	// Model says what a replica must read that has seen the operations of h. It is the
	// specification: write it from the documentation of the type, not from its code, and use
	// nothing of either.
	Model func(h History[O]) any

	// Grows says that state grows with the number of operations by intention, as in a list to which
	// is only appended. It takes out law 11.
	Grows bool
}

// Check runs random histories of the type and holds it to every law, as subtests "store" (keys of a
// store among others, with a log that is short, rows, crashes and repairs) and "standalone" (values
// with a store of their own). The flags of rapid apply: -rapid.checks=1000 for more histories,
// -rapid.seed for one again. What fails is made small and printed as the steps that led there.
func (l Laws[V, T, O]) Check(t *testing.T) {
	t.Helper()
	if l.Op == nil || l.Do == nil || l.Value == nil || l.Model == nil {
		t.Fatal("proptest: Laws needs Op, Do, Value and Model")
	}
	s := l.subject()
	t.Run("store", func(t *testing.T) { rapid.Check(t, func(t *rapid.T) { report(t, s.history(t, inStore)) }) })
	t.Run("standalone", func(t *testing.T) { rapid.Check(t, func(t *rapid.T) { report(t, s.history(t, alone)) }) })
}

func report(t *rapid.T, err error) {
	if err != nil {
		t.Fatal(err)
	}
}

// subject is a type under test without its type parameters. Operations are of the type O, values
// what Laws.Value returned.
type subject struct {
	kind     crdt.Kind
	grows    bool
	op       func(*rapid.T) any
	update   func(ops []any, peek func(done int, value any) error) func(*crdt.Tx) error
	view     func(crdt.Reader) (*reading, error)
	newAlone func(crdt.Origin) standalone
	newPast  func() past
	plant    port // what tests break
}

// reading is a view that was taken, and the value that it read then.
type reading struct {
	value  any
	reread func() any // reads the same view once more
}

// standalone is a crdt.Standalone.
type standalone interface {
	update(wall int64, ops []any) (crdt.Group, error)
	apply(crdt.Group) (crdt.Outcome, error)
	merge(standalone) error
	read() (*reading, error)
	replica() *crdt.Replica
}

func (l Laws[V, T, O]) subject() *subject {
	var v V
	return &subject{
		kind:  v.Kind(),
		grows: l.Grows,
		op:    func(t *rapid.T) any { return l.Op.Draw(t, "operation") },
		update: func(ops []any, peek func(int, any) error) func(*crdt.Tx) error {
			return func(tx *crdt.Tx) error {
				return crdt.Mutate[V](func(m T) error { return l.do(tx, m, ops, peek) })(tx)
			}
		},
		view: func(r crdt.Reader) (*reading, error) {
			v, err := crdt.ViewOf[V](r)
			return l.reading(v, err)
		},
		newAlone: func(o crdt.Origin) standalone { return &oneValue[V, T, O]{s: crdt.New[V](o), l: l} },
		newPast:  func() past { return &events[O]{model: l.Model} },
		plant:    realPort,
	}
}

// do carries operations out and, when peek is set, shows it what the transaction reads before the
// first and after each.
func (l Laws[V, T, O]) do(tx *crdt.Tx, m T, ops []any, peek func(int, any) error) error {
	for i := 0; ; i++ {
		if peek != nil {
			v, err := l.reading(crdt.ViewOf[V](tx.Reader()))
			if err != nil {
				return err
			}
			if err := peek(i, v.value); err != nil {
				return err
			}
		}
		if i == len(ops) {
			return nil
		}
		if err := l.Do(m, ops[i].(O)); err != nil {
			return fmt.Errorf("operation %v was refused: %w", ops[i], err)
		}
	}
}

func (l Laws[V, T, O]) reading(v V, err error) (*reading, error) {
	if err != nil {
		return nil, err
	}
	return &reading{value: l.Value(v), reread: func() any { return l.Value(v) }}, nil
}

type oneValue[V crdt.Value[V, T], T, O any] struct {
	s *crdt.Standalone[V, T]
	l Laws[V, T, O]
}

func (a *oneValue[V, T, O]) update(wall int64, ops []any) (crdt.Group, error) {
	fn := func(m T) error { return a.l.do(nil, m, ops, nil) }
	if wall == 0 {
		return a.s.Update(fn)
	}
	return a.s.UpdateAt(wall, fn)
}

func (a *oneValue[V, T, O]) apply(g crdt.Group) (crdt.Outcome, error) { return a.s.Apply(g) }

func (a *oneValue[V, T, O]) merge(from standalone) error {
	return a.s.Merge(from.(*oneValue[V, T, O]).s)
}

func (a *oneValue[V, T, O]) read() (*reading, error) {
	v, err := a.s.Value()
	return a.l.reading(v, err)
}

func (a *oneValue[V, T, O]) replica() *crdt.Replica { return a.s.Replica() }

// guarded calls a function of the type under test; its panic breaks a law.
func guarded(fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errPanicked, p)
		}
	}()
	return fn()
}

var errPanicked = errors.New("the type panicked")

// alike reports whether Laws.Value and Laws.Model returned the same.
func alike(a, b any) bool {
	if reflect.DeepEqual(a, b) {
		return true
	}
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	if !x.IsValid() || !y.IsValid() || x.Type() != y.Type() {
		return false
	}
	return (x.Kind() == reflect.Slice || x.Kind() == reflect.Map) && x.Len() == 0 && y.Len() == 0
}
