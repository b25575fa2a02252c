// Worker of the installed page: keeps what another app shares until the page asks about it.

addEventListener("fetch", (event) => {
  if (event.request.method === "POST") event.respondWith(keep(event.request));
});

async function keep(request) {
  await (await caches.open("share")).put("/", new Response(await request.formData()));
  return Response.redirect("/#/import?shared", 303);
}
