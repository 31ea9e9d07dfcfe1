package main

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
)

// Posts the second argument as request_body to the first, and prints the answer.
func main() {
	answer, err := http.PostForm(os.Args[1], url.Values{"request_body": {os.Args[2]}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	body, _ := io.ReadAll(answer.Body)
	fmt.Println(string(body))
}
