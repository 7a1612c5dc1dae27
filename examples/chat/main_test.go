package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/examples/local/localtest"
)

// What is said to one node comes to the browsers of the others, in one order.
func TestChat(t *testing.T) {
	urls := localtest.URLs(t, 3, run)
	browser, err := http.Get(urls[2] + "/rooms/lobby")
	if err != nil {
		t.Fatal(err)
	}
	defer browser.Body.Close()
	say := func(node int, user, text, want string) {
		t.Helper()
		answer, err := http.PostForm(urls[node]+"/rooms/lobby", url.Values{"user": {user}, "text": {text}})
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		got, err := io.ReadAll(answer.Body)
		if err != nil || strings.TrimSpace(string(got)) != want {
			t.Errorf("node %d answers %q (%v), want %s", node+1, got, err, want)
		}
	}
	for i := range linesMax {
		say(i%3, "alice", fmt.Sprint("hello ", i+1), fmt.Sprint(i+1))
	}
	say(0, "bob", "<b>hi</b>", fmt.Sprint(linesMax+1))
	say(0, "", "by a stranger", ErrEmpty.Error())
	events := bufio.NewScanner(browser.Body)
	events.Buffer(nil, 1<<20)
	const last = `{"number":101,"user":"bob","text":"\u003cb\u003ehi\u003c/b\u003e"}]`
	for events.Scan() {
		line := events.Text()
		if strings.HasSuffix(line, last) {
			if !strings.HasPrefix(line, `data: [{"number":2,"user":"alice","text":"hello 2"},`) {
				t.Errorf("the oldest message is not gone: %.100s", line)
			}
			return
		}
	}
	t.Errorf("the stream ended (%v) before the last message", events.Err())
}
