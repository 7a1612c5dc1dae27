package host

import (
	"reflect"
	"sync"
)

// Attached is what extensions keep on one node, a value per type. The zero value is empty. It may be
// used from any goroutine.
type Attached struct {
	mu     sync.Mutex
	byType map[reflect.Type]any
}

// Attach returns the *T that an extension keeps on a node. The first call makes it, while others
// wait: make must not attach anything itself. It lives as long as the node's memory does.
func Attach[T any](h Host, make func() *T) *T {
	a, key := h.Attached, reflect.TypeFor[T]()
	a.mu.Lock()
	defer a.mu.Unlock()
	if v, ok := a.byType[key]; ok {
		return v.(*T)
	}
	if a.byType == nil {
		a.byType = map[reflect.Type]any{}
	}
	v := make()
	a.byType[key] = v
	return v
}
