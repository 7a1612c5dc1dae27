package simtest_test

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/coterie-go/coterie/proptest/simtest"
	"github.com/coterie-go/coterie/sharding"
)

type (
	command interface{ isCommand() }
	pay     struct { // once for each number
		sharding.Returns[command, int]
		Number, Amount int
	}
	paid struct {
		sharding.Returns[command, int]
	}
)

func (pay) isCommand()  {}
func (paid) isCommand() {}

// book is what a bank outside of the cluster has of one account.
type book struct {
	numbers map[int]bool
	paid    int
	token   sharding.FencingToken
}

var errFenced = errors.New("a later owner has asked")

// account pays by the bank, which does not look at numbers: the account does.
type account struct {
	n      *simtest.Node
	bank   map[string]*book
	fenced bool
}

// call calls the bank. A bank that fences refuses earlier owners.
func (a *account) call(c *sharding.Context[command], do func(*book)) error {
	token, err := c.Fence()
	if err != nil {
		return err
	}
	return a.n.Call(c, func() error {
		b := a.bank[c.ID()]
		if b == nil {
			b = &book{numbers: map[int]bool{}}
			a.bank[c.ID()] = b
		}
		if a.fenced && token.Less(b.token) {
			return errFenced
		}
		b.token = token
		do(b)
		return nil
	})
}

func (a *account) Receive(c *sharding.Context[command], m command) error {
	done, total := false, 0
	if err := a.call(c, func(b *book) { total = b.paid }); err != nil {
		return err
	}
	if m, is := m.(pay); is {
		if err := a.call(c, func(b *book) { done = b.numbers[m.Number] }); err != nil {
			return err
		}
		if !done {
			err := a.call(c, func(b *book) {
				b.numbers[m.Number] = true
				b.paid += m.Amount
				total = b.paid
			})
			if err != nil {
				return err
			}
		}
	}
	return c.Reply(total)
}

// state is what the model knows of an account.
type state struct {
	numbers [2]bool
	paid    int
}

func accounts(fenced bool) simtest.Entity[command, state] {
	var bank map[string]*book
	return simtest.Entity[command, state]{
		Size:  simtest.Size{Entities: 1},
		Begin: func() { bank = map[string]*book{} },
		Start: func(n *simtest.Node) (sharding.EntityType[command], error) {
			return sharding.EntityType[command]{
				Identity: sharding.Identity{Name: "account", Role: "bank", Shards: 2},
				Messages: sharding.CBOR[command](pay{}, paid{}),
				New: func(*sharding.Context[command]) sharding.Entity[command] {
					return &account{n, bank, fenced}
				},
			}, nil
		},
		Op: func(t *rapid.T) simtest.Op[command] {
			if rapid.IntRange(0, 3).Draw(t, "pays") > 0 {
				return simtest.Ask(pay{Number: rapid.IntRange(0, 1).Draw(t, "number"), Amount: 1})
			}
			return simtest.Ask(paid{})
		},
		Model: func(s state, m command) (state, any) {
			if m, is := m.(pay); is && !s.numbers[m.Number] {
				s.numbers[m.Number] = true
				s.paid += m.Amount
			}
			return s, s.paid
		},
	}
}

// A service that fences pays each number once, whatever happens to nodes and calls.
func TestFencedAccounts(t *testing.T) { accounts(true).Check(t) }

// FuzzAccounts has worlds from a fuzzer.
func FuzzAccounts(f *testing.F) { accounts(true).Fuzz(f) }
