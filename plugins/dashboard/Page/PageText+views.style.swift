// Made by .ci/page from plugins/dashboard/page/views.css: change that file, and run .ci/page again.
// swift-format-ignore-file

extension PageText {
    static let viewsCSS: StaticString = ##"""
/* */
"""##
}
