package disk

import (
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/ddata/membership"
)

// Recorder writes the membership's record to the disk, on a goroutine of its own: the loop that
// renews the lease waits for no disk.
type Recorder struct {
	put    func(record []byte) error // returns when the record is durable
	post   func(membership.Input)
	next   chan []byte
	done   chan struct{}
	writes atomic.Int64 // when the present write began, in Unix nanoseconds; 0: there is none
}

// StartRecorder writes records with put, and answers each.
func StartRecorder(put func([]byte) error, post func(membership.Input)) *Recorder {
	r := &Recorder{put: put, post: post, next: make(chan []byte, 1), done: make(chan struct{})}
	go r.run()
	return r
}

// Write has a record written. There is no second one before the first is answered, so it does not
// wait.
func (r *Recorder) Write(record []byte) { r.next <- record }

func (r *Recorder) run() {
	defer close(r.done)
	for record := range r.next {
		r.writes.Store(time.Now().UnixNano())
		err := r.put(record)
		r.writes.Store(0)
		r.post(membership.Persisted{Err: err})
	}
}

// Stop returns when what was to be written is written. Nothing is written after it.
func (r *Recorder) Stop() {
	close(r.next)
	<-r.done
}

// Busy is for how long the present write has been under way.
func (r *Recorder) Busy(now time.Time) time.Duration {
	since := r.writes.Load()
	if since == 0 {
		return 0
	}
	return max(0, now.Sub(time.Unix(0, since)))
}
