package locks_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coterie-go/coterie/ddata/locks"
)

// Two owners want one name. The first has it until it releases it, and leaves a record to the next.
func ExampleStore() {
	ctx := context.Background()
	var store locks.Store = locks.NewMemory() // elsewhere PostgreSQL, etcd, Kubernetes, a directory
	first, err := store.Lock("reports", "node a")
	second, err2 := store.Lock("reports", "node b")
	if err := errors.Join(err, err2); err != nil {
		fmt.Println(err)
		return
	}
	lost := func(err error) { fmt.Println("lost:", err) }
	fmt.Println(first.Acquire(ctx, lost))
	fmt.Println(second.Acquire(ctx, lost))
	if door, ok := second.(locks.Holder); ok { // for people that look
		fmt.Println("it is held by", door.Holder(ctx))
	}
	fmt.Println("held:", time.Now().Before(first.Until()), first.Save(ctx, []byte("page 7")))
	fmt.Println(first.Release(ctx))

	fmt.Println(second.Acquire(ctx, lost))
	record, err := second.Load(ctx)
	fmt.Printf("%s %v\n", record, err)
	// Output:
	// true <nil>
	// false <nil>
	// it is held by node a
	// held: true <nil>
	// <nil>
	// true <nil>
	// page 7 <nil>
}

// A lease that ends by itself is told to its holder, which must not act any more.
func ExampleMemory() {
	ctx := context.Background()
	store := locks.NewMemory()
	lock, err := store.Lock("reports", "node a")
	if err != nil {
		fmt.Println(err)
		return
	}
	lost := make(chan error)
	fmt.Println(lock.Acquire(ctx, func(err error) { lost <- err }))
	store.Take("reports")
	fmt.Println(<-lost != nil, lock.Until().IsZero())
	fmt.Println(errors.Is(lock.Save(ctx, nil), locks.ErrNotHeld))
	// Output:
	// true <nil>
	// true true
	// true
}

// faulty is a store with a defect.
type faulty struct{}

func (faulty) ID() string { return "faulty" }

func (faulty) Lock(string, string) (locks.Lock, error) { panic("no connection") }

// A store whose methods panic fails, and the node goes on.
func ExampleGuarded() {
	store := locks.Guarded(faulty{}, func(p locks.Panic) { fmt.Println(p.Call, p.Name, p.Value) })
	_, err := store.Lock("reports", "node a")
	fmt.Println(errors.Is(err, locks.ErrPanicked))
	// Output:
	// Store.Lock reports no connection
	// true
}

// What a store could not do is told with what was found and what helps.
func ExampleError() {
	err := error(&locks.Error{
		Kind: locks.ErrUnusable, Path: "/var/leases", Detail: "it belongs to another user", Remedy: "change the owner",
	})
	fmt.Println(errors.Is(err, locks.ErrUnusable))
	fmt.Println(err)
	// Output:
	// true
	// lease: store of leases cannot be used: /var/leases: it belongs to another user; change the owner
}
