/* A shared library of somebody else that lies in a plugin folder. */
int an_innocent_function(void);
int an_innocent_function(void) { return 1; }
