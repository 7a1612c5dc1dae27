package control

import (
	"testing"

	"github.com/coterie-go/coterie/crdt"
)

// Ids that change while others are compared wait for the end of that, and the latest count.
func TestIDsAreComparedOneAfterTheOther(t *testing.T) {
	var k knownIDs
	k.changed(crdt.Reader{})
	if _, _, ok := k.begin(); ok {
		t.Error("they are compared before the machine has read them")
	}
	k.read(crdt.Reader{})
	if _, _, ok := k.begin(); !ok {
		t.Fatal("they are not compared")
	}
	for range 2 {
		if k.changed(crdt.Reader{}); !k.busy {
			t.Fatal("the comparison has ended by itself")
		}
		if _, _, ok := k.begin(); ok {
			t.Error("two comparisons go on at one time")
		}
	}
	k.end()
	if _, _, ok := k.begin(); !ok {
		t.Error("what came meanwhile is not compared")
	}
	k.end()
	if _, _, ok := k.begin(); ok {
		t.Error("they are compared again without a change")
	}
}
