// Command gohttp says hello over HTTP, as examples/httpd does at /.hello, for bench/http.py.
//
// SPDX-License-Identifier: MIT
package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
)

func hello(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	w.Write([]byte("Hello, world!"))
}

func main() {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, "gohttp:", err)
		os.Exit(1)
	}
	fmt.Printf("gohttp: listening on 127.0.0.1 port %d\n", listener.Addr().(*net.TCPAddr).Port)
	http.HandleFunc("/.hello", hello)
	fmt.Fprintln(os.Stderr, "gohttp:", http.Serve(listener, nil))
	os.Exit(1)
}
