package entities

import (
	"strings"
	"testing"
)

// The handler is found in every form of a stack in which package sharding calls the user's code.
func TestHandlerInStacks(t *testing.T) {
	for want, frame := range map[string]string{
		"shop.(*Cart).Receive at cart.go:7": "github.com/coterie-go/coterie/sharding.(*Context[...]).receive(0x1, " +
			"{0x2})",
		"shop.(*Cart).Stop at cart.go:7": "github.com/coterie-go/coterie/sharding.(*Context[...]).stop(...)",
		"shop.New at cart.go:7": "github.com/coterie-go/coterie/sharding.StartOn[...].(*Region[...])." +
			"incarnate.func4(0xc0)",
	} {
		user, _, _ := strings.Cut(want, " at ")
		stack := "goroutine 7 [chan receive]:\nruntime.chanrecv1(0x1)\n\t/go/chan.go:1 +0x2\nexample.com/" + user +
			"(0x1)\n\t/src/shop/cart.go:7 +0x9\n" +
			frame + "\n\t/x.go:1 +0x1\nmain.main()\n\t/y.go:1"
		if got := handlerIn(stack); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := handlerIn("goroutine 7 [running]:\nmain.main()\n\t/y.go:1"); got != "" {
		t.Errorf("%q", got)
	}
}
