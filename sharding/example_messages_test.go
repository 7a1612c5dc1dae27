package sharding_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/sharding"
)

// The reply of a request is part of its type, so the compiler refuses a wrong one.
func ExampleRequest() {
	var _ sharding.Request[Command, int] = Total{}

	ask := func(ctx context.Context, cart sharding.Recipient[Command]) (int, error) {
		return sharding.Ask(ctx, cart, Total{})
	}
	shop(func(*sharding.EntityType[Command]) {},
		func(ctx context.Context, _ *ddata.Node, carts *sharding.Region[Command]) error {
			total, err := ask(ctx, carts.Ref("cart-42"))
			fmt.Println(total)
			return err
		})
	// Output: 0
}

// A reference is kept, and follows its entity wherever that moves.
func ExampleEntityRef() {
	shop(func(*sharding.EntityType[Command]) {},
		func(ctx context.Context, _ *ddata.Node, carts *sharding.Region[Command]) error {
			var cart *sharding.EntityRef[Command] = carts.Ref("cart-42")
			for range 3 {
				if err := cart.Tell(ctx, AddItem{"apple", 1}); err != nil {
					return err
				}
			}
			total, err := sharding.Ask(ctx, cart, Total{})
			fmt.Println(cart.ID(), total)
			return err
		})
	// Output: cart-42 3
}

// A message that carries the id of its entity is told by an extractor.
func ExampleEnvelope() {
	shop(func(*sharding.EntityType[Command]) {},
		func(ctx context.Context, _ *ddata.Node, carts *sharding.Region[Command]) error {
			parcels := sharding.NewExtractor(carts, sharding.Open[Command])
			err := parcels.Tell(ctx, sharding.Envelope[Command]{ID: "cart-42", Message: AddItem{"apple", 2}})
			if err != nil {
				return err
			}
			total, err := sharding.Ask(ctx, carts.Ref("cart-42"), Total{})
			fmt.Println(total)
			return err
		})
	// Output: 2
}

// Price is a message whose name on the wire outlives a move to another package, and that encodes itself.
type Price struct{ Cents uint64 }

func (Price) cartCommand() {}

// MessageName is its name on the wire.
func (Price) MessageName() string { return "shop.Price" }

// AppendCBOR appends one item of CBOR.
func (p Price) AppendCBOR(dst []byte) ([]byte, error) { return cbor.AppendUint(dst, p.Cents), nil }

// UnmarshalCBOR reads what AppendCBOR has made.
func (p *Price) UnmarshalCBOR(b []byte) error {
	r := cbor.NewReader(b)
	p.Cents = r.Uint()
	return r.End()
}

func ExampleNamed() {
	var (
		_ sharding.Named    = Price{}
		_ sharding.Appender = Price{}
	)
	b, err := Price{Cents: 250}.AppendCBOR(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	var back Price
	fmt.Println(len(b), "bytes", back.UnmarshalCBOR(b), back.Cents)
	// Output: 2 bytes <nil> 250
}

// asJSON is an encoding of one's own.
type asJSON struct{}

func (asJSON) Name() string { return "json" }

func (asJSON) Append(dst []byte, v any) ([]byte, error) {
	b, err := json.Marshal(v)
	return append(dst, b...), err
}

func (asJSON) Decode(b []byte, v any) error { return json.Unmarshal(b, v) }

// Messages and replies travel as JSON.
func ExampleEncoding() {
	var encoding sharding.Encoding = asJSON{}
	shop(func(t *sharding.EntityType[Command]) {
		t.Messages = sharding.Encoded[Command](encoding, AddItem{}, Total{})
	}, func(ctx context.Context, _ *ddata.Node, carts *sharding.Region[Command]) error {
		total, err := sharding.Ask(ctx, carts.Ref("cart-42"), Total{})
		fmt.Println(total)
		return err
	})
	// Output: 0
}
