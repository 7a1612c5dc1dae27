// Package escaped writes strings of bytes that end by themselves, so that of two none begins like the other, and
// that sort like what they are of: every zero byte is followed by 0xff, and a zero and a one are the end.
package escaped
