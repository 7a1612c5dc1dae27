// Package local starts and stops clusters whose nodes are all in this process: for examples, which show
// with one command what several processes do. A service starts one node in each of its processes.
package local
