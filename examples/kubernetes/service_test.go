package main

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/ddata/console"
)

// A name that no entity can have is the mistake of the client.
func TestNames(t *testing.T) {
	pod := alone(t, console.Tokens{})
	for name, want := range map[string]int{
		"a": 200, strings.Repeat("a", 512): 200, strings.Repeat("a", 513): 400, strings.Repeat("a", 3000): 400,
		"%ff": 400,
	} {
		for _, method := range []string{"POST", "GET"} {
			w := httptest.NewRecorder()
			pod.requests().ServeHTTP(w, httptest.NewRequest(method, "/counters/"+name, nil))
			if w.Code != want {
				t.Errorf("%s of a name of %d bytes: %d %s, want %d", method, len(name), w.Code, w.Body, want)
			}
		}
	}
}
