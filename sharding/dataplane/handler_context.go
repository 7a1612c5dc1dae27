package dataplane

import "context"

// handlerContext is the context of the handlers of one entity. It knows where it belongs, so that a
// Tell or an Ask that is given it, or a context derived from it, sees that it is inside a handler.
type handlerContext struct {
	context.Context
	entity *Entity
}

type handlerKey struct{}

// Value implements context.Context.
func (c *handlerContext) Value(key any) any {
	if key == (handlerKey{}) {
		return c
	}
	return c.Context.Value(key)
}

// HandlerOf finds the handler that a context belongs to; nil: none.
func HandlerOf(ctx context.Context) *handlerContext {
	if ctx == context.Background() {
		return nil
	}
	if h, ok := ctx.(*handlerContext); ok {
		return h
	}
	h, _ := ctx.Value(handlerKey{}).(*handlerContext)
	return h
}

// InHandler is a context for sends that must not wait.
var InHandler context.Context = &handlerContext{Context: context.Background()}
