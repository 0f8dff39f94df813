"""Measurements of what happens on Ctrl-C, kill -9 and too little memory, and the page that reports them."""
