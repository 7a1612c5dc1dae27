package drivers

import (
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/quorum"
)

// DataHost is the loop around a Replica. Its methods may be called from any goroutine, and do not
// wait.
type DataHost interface {
	// Operate has an operation stepped by Replica.Call, with a number of its own. A timeout of 0
	// stands for the host's. done gets its result, or why it was not taken, once.
	Operate(level quorum.Level, timeout time.Duration, in func(id uint64, timeout time.Duration) replicator.Input,
		done func(effect.Result))
	// Follow subscribes to all keys with a prefix, from now on. fn is called by the loop.
	Follow(prefix string, fn func(key string, r crdt.Reader)) (cancel func())
	// Explain says of an error what was done to which key. It returns nil for nil.
	Explain(what, key string, level quorum.Level, err error) error
}

// Data is a replica for callers that do not wait; it is what host.Data says.
type Data struct{ Host DataHost }

// Update implements host.Data.
func (d Data) Update(key string, level quorum.Level, timeout time.Duration,
	mutate func(*crdt.Tx) error, done func(error)) {
	d.Host.Operate(level, timeout, func(id uint64, timeout time.Duration) replicator.Input {
		return replicator.Update{ID: id, Key: key, Mutate: mutate, Write: level, Timeout: timeout}
	}, func(res effect.Result) { done(d.Host.Explain("update", key, level, res.Err)) })
}

// Get implements host.Data.
func (d Data) Get(key string, level quorum.Level, timeout time.Duration, done func(crdt.Reader, error)) {
	d.Host.Operate(level, timeout, func(id uint64, timeout time.Duration) replicator.Input {
		return replicator.Get{ID: id, Key: key, Read: level, Timeout: timeout}
	}, func(res effect.Result) { done(res.Reader, d.Host.Explain("get", key, level, res.Err)) })
}

// Watch implements host.Data.
func (d Data) Watch(prefix string, fn func(string, crdt.Reader)) (cancel func()) {
	return d.Host.Follow(prefix, fn)
}
