// The files of the page, as the server knows them. The package manager embeds the folder `page` in the
// program (`PackageResources`), so the program needs no files beside it.

/// One file of the page.
struct PageFile {
    let type: String
    let bytes: [UInt8]

    /// The files by their paths.
    static let all: [String: PageFile] = [
        "/": PageFile(type: "text/html", bytes: PackageResources.index_html),
        "/style.css": PageFile(type: "text/css", bytes: PackageResources.style_css),
        "/views.css": PageFile(type: "text/css", bytes: PackageResources.views_css),
        "/icon.svg": PageFile(type: "image/svg+xml", bytes: PackageResources.icon_svg),
        "/main.js": script(PackageResources.main_js),
        "/lanes.js": script(PackageResources.lanes_js),
        "/changes.js": script(PackageResources.changes_js),
        "/link.js": script(PackageResources.link_js),
        "/dom.js": script(PackageResources.dom_js),
        "/chart.js": script(PackageResources.chart_js),
        "/json.js": script(PackageResources.json_js),
        "/pace.js": script(PackageResources.pace_js),
        "/keys.js": script(PackageResources.keys_js),
        "/rates.js": script(PackageResources.rates_js),
        "/rows.js": script(PackageResources.rows_js),
        "/tree.js": script(PackageResources.tree_js),
        "/facts.js": script(PackageResources.facts_js),
        "/key.js": script(PackageResources.key_js),
        "/causes.js": script(PackageResources.causes_js),
        "/values.js": script(PackageResources.values_js),
        "/recording.js": script(PackageResources.recording_js),
        "/flow.js": script(PackageResources.flow_js),
        "/graph.js": script(PackageResources.graph_js),
        "/health.js": script(PackageResources.health_js),
        "/write.js": script(PackageResources.write_js),
    ]

    /// What the server sends for a path.
    static func answer(_ path: String) -> WebAnswer {
        guard let file = all[path] else { return .empty(.notFound) }
        return WebAnswer(status: .fine, type: file.type, body: file.bytes)
    }

    private static func script(_ bytes: [UInt8]) -> PageFile {
        PageFile(type: "text/javascript", bytes: bytes)
    }
}
