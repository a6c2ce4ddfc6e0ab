// Made by .ci/page from plugins/dashboard/page/index.html: change that file, and run .ci/page again.
// swift-format-ignore-file

extension PageText {
    static let indexHTML: StaticString = ##"""
<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>Plugboard</title>
    <link rel="icon" href="/icon.svg" type="image/svg+xml">
    <link rel="stylesheet" href="/style.css">
    <link rel="stylesheet" href="/views.css">
    <script type="module" src="/main.js"></script>
  </head>
  <body>
    <header class="bar">
      <a class="brand" href="#/keys" aria-label="Plugboard"><span class="mark" aria-hidden="true"></span>Plugboard</a>
      <nav id="views" aria-label="Views"></nav>
      <span class="bar-space"></span>
      <button id="write" class="quiet" hidden>Write</button>
      <output id="rate" class="rate" aria-live="off"></output>
      <span id="state" class="state" role="status"></span>
    </header>
    <p id="notice" class="notice" role="alert" hidden></p>
    <main id="view" tabindex="-1"></main>
    <noscript><p class="notice">This page needs JavaScript.</p></noscript>
  </body>
</html>
"""##
}
