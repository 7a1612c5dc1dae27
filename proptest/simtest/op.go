package simtest

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"github.com/coterie-go/coterie/sharding"
)

// Op is one operation of a client on an entity: a question or a message.
type Op[M any] struct {
	msg      M
	ask      func(context.Context, *sharding.EntityRef[M]) (any, error) // nil: it is told, or delivered
	delivers bool
}

// Ask is the operation that asks an entity, and has its reply.
func Ask[M, R any](req sharding.Request[M, R]) Op[M] {
	msg, is := any(req).(M)
	if !is {
		panic(fmt.Sprintf("simtest: %T says that it is a request of another type's entities", req))
	}
	return Op[M]{msg: msg, ask: func(ctx context.Context, to *sharding.EntityRef[M]) (any, error) {
		return sharding.Ask(ctx, to, req)
	}}
}

// Tell is the operation that tells an entity something. The client does not hear what became of it.
func Tell[M any](msg M) Op[M] { return Op[M]{msg: msg} }

// Deliver is the operation that has the producer of the client's node (package sharding/delivery) deliver
// a message to an entity, whose type goes through delivery.Consume. The client hears when the message is
// confirmed. In half of the worlds the producers have a queue that survives their node. To the Model a
// delivered message happens once: an entity must know a message again that comes to a later incarnation,
// by the message itself, or by Delivery.Session and Seq. See Entity.Repeats.
func Deliver[M any](msg M) Op[M] { return Op[M]{msg: msg, delivers: true} }

// asks reports whether the operation has a reply.
func (o Op[M]) asks() bool { return o.ask != nil }

func (o Op[M]) String() string {
	switch {
	case o.delivers:
		return "delivered " + nameOf(o.msg)
	case o.asks():
		return "asked " + nameOf(o.msg)
	}
	return "told " + nameOf(o.msg)
}

// GoString is the operation as rapid prints it.
func (o Op[M]) GoString() string { return o.String() }

// nameOf prints a message: its type, without the package, and what is in it.
func nameOf(msg any) string {
	v := reflect.ValueOf(msg)
	if v.Kind() != reflect.Struct {
		return fmt.Sprintf("%T %+v", msg, msg)
	}
	var fields []string
	for i := range v.NumField() {
		if f := v.Type().Field(i); !f.Anonymous {
			fields = append(fields, fmt.Sprintf("%s:%v", f.Name, v.Field(i)))
		}
	}
	return v.Type().Name() + "{" + strings.Join(fields, " ") + "}"
}
