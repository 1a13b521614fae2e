/* A context of OpenGL's without a window, and a picture of points drawn in it. Nothing here is about Consort. For main() alone, on
 * its thread: a context is its thread's. */
#pragma once
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GL/gl.h>
#include <GL/glext.h>
#include <stdint.h>

/* A vertex is a pixel: where it is, and its colour as bytes: red, green, blue, 255. */
typedef struct vertex { float x, y; uint32_t colour; } vertex;

/* NULL, or why there is none. */
const char *gl_begin(void);
void gl_end(void);
/* A buffer of so many vertices, of GL's own memory. */
GLuint gl_buffer(uint64_t vertices);
void gl_drop(GLuint buffer);
/* Draws it as points into a picture of width x height and reads that: 4 bytes each, the lowest row first. 0, or GL's error. */
unsigned gl_draw(GLuint buffer, int width, int height, uint32_t *pixels);
