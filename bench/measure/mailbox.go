package measure

import "sync"

// Mailbox is the cheapest one there is: a slice under a mutex, emptied by one goroutine.
type Mailbox[M any] struct {
	mu    sync.Mutex
	queue []M
	wake  chan struct{}
	idle  chan struct{} // closed when all has been handled
}

// NewMailbox makes a Mailbox. Settle ends its goroutine.
func NewMailbox[M any]() *Mailbox[M] {
	m := &Mailbox[M]{wake: make(chan struct{}, 1), idle: make(chan struct{})}
	go m.run()
	return m
}

// Tell puts a message into it.
func (m *Mailbox[M]) Tell(msg M) {
	m.mu.Lock()
	m.queue = append(m.queue, msg)
	first := len(m.queue) == 1
	m.mu.Unlock()
	if first {
		select {
		case m.wake <- struct{}{}:
		default:
		}
	}
}

// Settle ends the mailbox and returns when all that was told has been handled.
func (m *Mailbox[M]) Settle() error {
	close(m.wake)
	<-m.idle
	return nil
}

func (m *Mailbox[M]) run() {
	defer close(m.idle)
	var spare []M
	for range m.wake {
		spare = m.empty(spare)
	}
	m.empty(spare)
}

func (m *Mailbox[M]) empty(spare []M) []M {
	m.mu.Lock()
	work := m.queue
	m.queue = spare[:0]
	m.mu.Unlock()
	clear(work)
	return work
}
