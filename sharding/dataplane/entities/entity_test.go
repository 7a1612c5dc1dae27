package entities

import (
	"testing"
	"unsafe"
)

// Idle entities are many.
func TestEntityIsSmall(t *testing.T) {
	var e Entity
	if size := unsafe.Sizeof(e); size > 192 { // the size class, which has its objects at the begin of cache lines
		t.Errorf("an entity has %d bytes", size)
	}
}
