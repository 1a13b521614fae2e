/* A shared library in a plugin folder that is no plugin of Consort. */
int an_innocent_function(void);
int an_innocent_function(void) { return 1; }
