// The files of the page, as the server knows them. Their texts are embedded in the program: the folder
// `page` has the files themselves, and `.ci/page` makes the Swift files in `PageText` from them.

/// One file of the page.
struct PageFile {
    let type: String
    let text: StaticString

    /// The files by their paths.
    static let all: [String: PageFile] = [
        "/": PageFile(type: "text/html", text: PageText.indexHTML),
        "/style.css": PageFile(type: "text/css", text: PageText.styleCSS),
        "/views.css": PageFile(type: "text/css", text: PageText.viewsCSS),
        "/icon.svg": PageFile(type: "image/svg+xml", text: PageText.iconSVG),
        "/main.js": script(PageText.mainJS),
        "/lanes.js": script(PageText.lanesJS),
        "/link.js": script(PageText.linkJS),
        "/dom.js": script(PageText.domJS),
        "/chart.js": script(PageText.chartJS),
        "/json.js": script(PageText.jsonJS),
        "/pace.js": script(PageText.paceJS),
        "/keys.js": script(PageText.keysJS),
        "/tree.js": script(PageText.treeJS),
        "/key.js": script(PageText.keyJS),
        "/causes.js": script(PageText.causesJS),
        "/flow.js": script(PageText.flowJS),
        "/graph.js": script(PageText.graphJS),
        "/health.js": script(PageText.healthJS),
        "/write.js": script(PageText.writeJS),
    ]

    /// What the server sends for a path.
    static func answer(_ path: String) -> WebAnswer {
        guard let file = all[path] else { return .empty(.notFound) }
        // A literal can't end with the file's last line feed.
        return WebAnswer(status: .fine, type: file.type, body: Array("\(file.text)\n".utf8))
    }

    private static func script(_ text: StaticString) -> PageFile {
        PageFile(type: "text/javascript", text: text)
    }
}

/// The texts of the files. The generated files extend it.
enum PageText {}
