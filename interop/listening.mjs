// Serves HTTP on a port of its own, and says on stderr where.

export function listening(server, path) {
  server.listen(0, "127.0.0.1", () => {
    console.error(`listening on http://127.0.0.1:${server.address().port}${path}`);
  });
}
