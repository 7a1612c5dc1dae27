package calls

import "errors"

// Why an Op was not carried out, beside what the store answers.
var (
	// ErrGaveUp: no call has succeeded within Settings.GiveUpAfter. The store may have done it
	// nevertheless, or may do it later.
	ErrGaveUp = errors.New("persistence: gave up")
	// ErrBufferFull: as much waits as Settings.WaitingMax and WaitingBytes allow. Usual cause: the
	// store is slower than what is asked of it. Nothing was called.
	ErrBufferFull = errors.New("persistence: too much waits for the store")
	// ErrEnded: the hosting has ended. If a call was under way, its outcome is unknown.
	ErrEnded = errors.New("persistence: the hosting has ended")
	// ErrClosed: the client was closed. If a call was under way, its outcome is unknown.
	ErrClosed = errors.New("persistence: client closed")
	// ErrNoStore: there is no store of this kind.
	ErrNoStore = errors.New("persistence: no such store")
)
