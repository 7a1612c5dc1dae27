// Package program finds programs of others that tests start, such as a server or a browser.
package program
