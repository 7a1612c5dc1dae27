package schema_test

import (
	"fmt"

	"github.com/coterie-go/coterie/sharding/persistence/schema"
)

// Event is what happens to an account.
type Event interface{ event() }

// The events. Deposited had a whole number of euros once, and no currency.
type (
	Opened    struct{ Owner string }
	Deposited struct {
		Cents    int
		Currency string
	}
	depositedInEuros struct{ Euros int }
)

func (Opened) event()    {}
func (Deposited) event() {}

// Names are stored and never change, and each older form of a type has a function that makes it one of the next.
func Example() {
	before := schema.CBOR(schema.Type[any]("deposited", depositedInEuros{}))
	var old schema.Stored
	old, err := before.Encode(depositedInEuros{Euros: 3})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(old.Name, old.Version)

	var upcast schema.Upcast = schema.From(func(d depositedInEuros) (Deposited, error) {
		return Deposited{Cents: 100 * d.Euros, Currency: "EUR"}, nil
	})
	var deposited schema.Kind[Event] = schema.Type[Event]("deposited", Deposited{}, upcast)
	var events schema.Schema[Event] = schema.CBOR(schema.Type[Event]("opened", Opened{}), deposited)
	fmt.Println(events.Validate())
	fmt.Println(events.Decode(old))
	fresh, err := events.Encode(Deposited{Cents: 50, Currency: "EUR"})
	fmt.Println(fresh.Name, fresh.Version, err)
	// Output:
	// deposited 1
	// <nil>
	// {300 EUR} <nil>
	// deposited 2 <nil>
}
