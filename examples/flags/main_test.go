package main

import (
	"bufio"
	"net/http"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/examples/local/localtest"
)

// A browser at one node sees a flag that is set on another.
func TestFlags(t *testing.T) {
	urls := localtest.URLs(t, 3, run)
	browser, err := http.Get(urls[2] + "/flags")
	if err != nil {
		t.Fatal(err)
	}
	defer browser.Body.Close()
	events := bufio.NewScanner(browser.Body)
	set := func(url string, want int) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s answers %s", url, answer.Status)
		}
	}
	sees := func(want string) {
		t.Helper()
		for events.Scan() {
			if strings.TrimPrefix(events.Text(), "data: ") == want {
				return
			}
		}
		t.Errorf("the stream ended (%v), and no event was %s", events.Err(), want)
	}
	set(urls[0]+"/flags/dark?on=true", http.StatusOK)
	sees(`{"dark":true}`)
	set(urls[1]+"/flags/beta?on=false", http.StatusOK)
	sees(`{"beta":false,"dark":true}`)
	set(urls[1]+"/flags/dark?on=maybe", http.StatusBadRequest)

	page, err := http.Get(urls[0])
	if err != nil {
		t.Fatal(err)
	}
	page.Body.Close()
	if page.StatusCode != http.StatusOK || !strings.HasPrefix(page.Header.Get("Content-Type"), "text/html") {
		t.Errorf("the page is %s, %s", page.Status, page.Header.Get("Content-Type"))
	}
}
