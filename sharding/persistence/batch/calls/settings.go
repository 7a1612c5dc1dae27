package calls

import (
	"time"

	"github.com/coterie-go/coterie/ddata/config"
)

// Settings say how a store is called. A zero field stands for its default.
type Settings struct {
	// InFlightMax is how many calls may be under way at a time, over all shards. More let a store that
	// makes one commit of several calls have larger ones; they use more connections of another store,
	// and make smaller batches. Default 16.
	InFlightMax int
	// BatchMax is how many entities one call may be about, at most 4,096. Default 256.
	BatchMax int
	// BytesMax bounds a call by the size of what it carries; a larger write goes alone. Default 1
	// MiB.
	BytesMax int
	// Linger is how long a write waits for others before it goes, unless a call of its shard is
	// under way. Longer makes larger batches, and each write slower. Default 0.
	Linger time.Duration
	// CallTimeout is how long one call may take. Default 5 s, or five eighths of GiveUpAfter if that
	// is less, so that there is time for a second one.
	CallTimeout time.Duration
	// GiveUpAfter is how long something is tried, over all repetitions, before it is given up. Longer
	// bears longer failures of the store. Default 8 s, at least CallTimeout. It should be below the
	// time that callers wait: past that they get a time-out in place of the store's error. 8 s is
	// below the default of sharding's Timeouts.Ask.
	GiveUpAfter time.Duration
	// RetryFirst is the pause after the first failure; it doubles up to RetryMost. Default 50 ms.
	RetryFirst time.Duration
	// RetryMost is the longest such pause. Default 2 s.
	RetryMost time.Duration
	// SlowAfter is how long a call may take before the store is reported to be slow. Default 1 s.
	SlowAfter time.Duration
	// WaitingMax is how many writes and loads may wait or be under way. Past it they fail with
	// ErrBufferFull. Default 100,000.
	WaitingMax int
	// WaitingBytes bounds the same by size; a single one always has room. Default 256 MiB.
	WaitingBytes int
}

// HangAfter is how long after its time-out a call may return, before it is reported to hang.
const HangAfter = time.Second

// batchMost is persistence.WritesMax.
const batchMost = 4096

// WithDefaults returns the settings with each zero field replaced.
func (s Settings) WithDefaults() Settings {
	config.Default(&s.InFlightMax, 16)
	config.Default(&s.BatchMax, 256)
	config.Default(&s.BytesMax, 1<<20)
	config.Default(&s.GiveUpAfter, max(8*time.Second, s.CallTimeout))
	config.Default(&s.CallTimeout, min(5*time.Second, s.GiveUpAfter/8*5))
	config.Default(&s.RetryFirst, 50*time.Millisecond)
	config.Default(&s.RetryMost, max(2*time.Second, s.RetryFirst))
	config.Default(&s.SlowAfter, time.Second)
	config.Default(&s.WaitingMax, 100_000)
	config.Default(&s.WaitingBytes, 256<<20)
	return s
}

// Validate reports every fault together.
func (s Settings) Validate() error {
	d := s.WithDefaults()
	var f config.Faults
	f.Add(d.InFlightMax < 1, "InFlightMax", "%d is not positive", d.InFlightMax)
	f.Add(d.BatchMax < 1 || d.BatchMax > batchMost, "BatchMax", "%d is not between 1 and %d", d.BatchMax, batchMost)
	f.Add(d.BytesMax < 1, "BytesMax", "%d is not positive", d.BytesMax)
	f.Add(d.Linger < 0, "Linger", "%v is negative", d.Linger)
	f.Add(d.CallTimeout < time.Millisecond, "CallTimeout", "%v is below 1 ms", d.CallTimeout)
	f.Add(d.GiveUpAfter < d.CallTimeout, "GiveUpAfter", "%v is below CallTimeout, %v", d.GiveUpAfter, d.CallTimeout)
	f.Add(d.Linger >= d.GiveUpAfter, "Linger", "%v is not below GiveUpAfter, %v", d.Linger, d.GiveUpAfter)
	f.Add(d.RetryFirst < time.Millisecond, "RetryFirst", "%v is below 1 ms", d.RetryFirst)
	f.Add(d.RetryMost < d.RetryFirst, "RetryMost", "%v is below RetryFirst, %v", d.RetryMost, d.RetryFirst)
	f.Add(d.SlowAfter < time.Millisecond, "SlowAfter", "%v is below 1 ms", d.SlowAfter)
	f.Add(d.WaitingMax < 1, "WaitingMax", "%d is not positive", d.WaitingMax)
	f.Add(d.WaitingBytes < 1, "WaitingBytes", "%d is not positive", d.WaitingBytes)
	return f.Err("")
}
