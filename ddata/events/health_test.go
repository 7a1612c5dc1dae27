package events

import (
	"net/http/httptest"
	"strings"
	"testing"
)

func TestHealthHandler(t *testing.T) {
	for _, c := range []struct {
		h            Health
		livez, ready int
	}{
		{Health{Live: true, Ready: true}, 200, 200},
		{Health{Live: true, Reasons: []string{"no lease"}}, 200, 503},
		{Health{Reasons: []string{"ended"}}, 503, 503},
	} {
		handler := HealthHandler(func() Health { return c.h })
		for path, want := range map[string]int{"/livez": c.livez, "/readyz": c.ready, "/": 404} {
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
			if w.Code != want || want != 404 && strings.TrimSpace(w.Body.String()) != c.h.String() {
				t.Errorf("%s of %v: %d %q", path, c.h, w.Code, w.Body)
			}
		}
	}
}
